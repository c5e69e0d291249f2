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
        facts = stated(measure, max_grade)
        has_discount = "discount" in measure.definition.parameters
        if has_discount and not {"discount", "log_base"} & dict(measure.params).keys():
            facts.append("discount = log2(rank + 1)")  # which the name shows only where it is another
        # Not escaped as a whole: citations are LaTeX already.
        inside = "; ".join(facts).replace("max_grade", r"max\_grade" if cite == "latex" else "max_grade")
        inside = "; ".join(part for part in (inside, _cited(references_of(measure.definition), cite)) if part)
        named.append(f"{_escaped(str(measure), cite)}{f' ({inside})' if inside else ''}")
    named += [_escaped(name, cite) for name in others]
    procedures = [REFERENCES[key] for key in tested]
    body = [_escaped(sentence, cite) for sentence in sentences]
    if procedures:
        body.append(f"On the tests and corrections see {_cited(procedures, cite)}.")
    software = replace(REFERENCES["ranklens"], note=f"Version {__version__}")
    body.append(f"Values were computed with RankLens {__version__} ({_cited([software], cite)}).")
    of_measures = [reference for measure in measures for reference in references_of(measure.definition)]
    text = " ".join([f"We report {several(named, len(named))}.", *body])
    return Methods(text, tuple(dict.fromkeys([*of_measures, *procedures, software])))


def _cited(references: Sequence[Reference], cite: Citations) -> str:
    if not references:
        return ""
    if cite == "latex":
        return rf"\cite{{{','.join(reference.key for reference in references)}}}"
    return ", ".join(reference.cited.replace(" (", " ").rstrip(")") for reference in references)


def _escaped(text: str, cite: Citations) -> str:
    from ranklens.tables.latex import escaped

    return escaped(text) if cite == "latex" else text
