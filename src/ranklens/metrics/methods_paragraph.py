"""The methods paragraph of a paper: what was measured, in sentences, with references."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ranklens import __version__
from ranklens.errors import InputError
from ranklens.metrics import Measure, stated
from ranklens.metrics.literature import REFERENCES, Reference, references_of
from ranklens.words import several

Citations = Literal["names", "latex"]


@dataclass(frozen=True)
class Methods:
    """A paragraph, and the publications that it names; prints as the paragraph."""

    text: str
    references: tuple[Reference, ...]

    @property
    def bibtex(self) -> str:
        """The references, for a bibliography."""
        return "\n\n".join(reference.bibtex for reference in self.references)

    def __str__(self) -> str:
        return self.text


def written(
    measures: Sequence[Measure],
    max_grade: float | None,
    sentences: Iterable[str],
    cite: Citations = "names",
    tested: Sequence[str] = (),
    others: Sequence[str] = (),
) -> Methods:
    """The paragraph: measures with parameters, then sentences, and publications on how it was ``tested`` (their keys).

    ``others`` are columns that are no measures of RankLens, such as latencies.
    """
    if cite not in ("names", "latex"):
        raise InputError(f"cite={cite!r} is not known: names or latex.")
    named = []
    for measure in measures:
        told = [
            *stated(measure, max_grade),
            *_discount(measure),
            _cited(references_of(measure.definition), cite),
        ]
        inside = "; ".join(part for part in told if part)
        named.append(f"{_escaped(str(measure), cite)}{f' ({_escaped_part(inside, cite)})' if inside else ''}")
    named += [_escaped(name, cite) for name in others]
    procedures = [REFERENCES[key] for key in tested]
    body = [_escaped(sentence, cite) for sentence in sentences]
    if procedures:
        body.append(f"On the tests and corrections see {_cited(procedures, cite)}.")
    software = replace(REFERENCES["ranklens"], note=f"Version {__version__}")
    body.append(f"Values were computed with RankLens {__version__} ({_cited([software], cite)}).")
    found = [reference for measure in measures for reference in references_of(measure.definition)]
    text = " ".join([f"We report {several(named, len(named))}.", *body])
    return Methods(text, tuple(dict.fromkeys([*found, *procedures, software])))


def _discount(measure: Measure) -> list[str]:
    """The discount of a measure that has a choice, where its name does not show it."""
    has_choice = "discount" in measure.definition.parameters
    is_shown = {"discount", "log_base"} & dict(measure.params).keys()
    return ["discount = log2(rank + 1)"] if has_choice and not is_shown else []


def _cited(references: Sequence[Reference], cite: Citations) -> str:
    if not references:
        return ""
    if cite == "latex":
        return rf"\cite{{{','.join(reference.key for reference in references)}}}"
    return ", ".join(reference.cited.replace(" (", " ").rstrip(")") for reference in references)


def _escaped(text: str, cite: Citations) -> str:
    from ranklens.tables.latex import escaped

    return escaped(text) if cite == "latex" else text


def _escaped_part(text: str, cite: Citations) -> str:
    """Parameters may hold an underscore; citations are LaTeX already."""
    return text.replace("max_grade", r"max\_grade") if cite == "latex" else text
