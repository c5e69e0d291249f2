"""Verdicts as JUnit XML, which CI services show as tests: one test case per rule and system."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from ranklens.guard.wording import reasons
from ranklens.words import visible

if TYPE_CHECKING:
    from ranklens.guard.verdicts import Outcome

SUITE = "ranklens gate"
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(outcome: Outcome) -> str:
    """A document with one suite; a rule that is undecided but passes is a skipped test."""
    skipped = sum(verdict.passed and verdict.status != "passed" for verdict in outcome.verdicts)
    counts = {"tests": len(outcome.verdicts), "failures": len(outcome.failed), "errors": 0}
    attributes = {name: str(number) for name, number in counts.items()}
    root = ET.Element("testsuites", {"name": SUITE, **attributes})
    suite = ET.SubElement(
        root, "testsuite", {"name": SUITE, **attributes, "skipped": str(skipped), "time": "0"}
    )
    for verdict in outcome.verdicts:
        name, text = _clean(str(verdict.rule)), _clean(verdict.sentence)
        about_case = {"classname": _clean(f"{SUITE}.{verdict.system}"), "name": name, "time": "0"}
        case = ET.SubElement(suite, "testcase", about_case)
        if not verdict.passed:
            failure = ET.SubElement(case, "failure", {"message": text, "type": verdict.status})
            failure.text = _clean("\n".join([verdict.sentence, *reasons(verdict)]))
        elif verdict.status != "passed":
            ET.SubElement(case, "skipped", {"message": text})
        else:
            ET.SubElement(case, "system-out").text = text
    about = [*outcome.stored, *([outcome.about] if outcome.about else []), *outcome.notes]
    if about:
        ET.SubElement(suite, "system-out").text = _clean("\n".join(about))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _clean(text: str) -> str:
    """Without characters that XML forbids, or that a terminal would obey."""
    return _NOT_XML.sub("�", visible(text))
