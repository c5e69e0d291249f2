"""The questions that every evaluation tool answers silently, answered here once and printed with every result.

Each is described once, in its field; the options of the command line, the report and the documentation read it there.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, TypedDict

from ranklens.errors import Given, Option, PolicyError, closest, nearest
from ranklens.options import Description
from ranklens.words import either

Ties = Literal["descending", "ascending", "input", "average"]
MissingQueries = Literal["zero", "skip", "error"]
UnjudgedQueries = Literal["ignore", "error"]
EmptyGold = Literal["zero", "one", "skip"]
Duplicates = Literal["first", "error"]
NaNScores = Literal["error", "last"]


@dataclass(frozen=True)
class Question:
    """What a policy decides: ``about`` is the subject, ``answers`` what happens to it, for each choice.

    >>> missing = questions()["missing"]
    >>> missing.about, missing.answer("skip"), missing.help
    ('Judged queries missing from a run', 'are left out', 'Judged queries missing from a run: zero, skip or error.')
    """

    about: str
    answers: Mapping[object, str]
    number: str = ""  # the answer if the choice is a number, with {} in its place
    option: str = ""  # the help of the option, if it is not made of the above

    def answer(self, choice: object) -> str:
        """What a choice means, in words."""
        number = f"{choice:g}" if isinstance(choice, float) else str(choice)
        return self.answers[choice] if choice in self.answers else self.number.format(number)

    @property
    def help(self) -> str:
        """The help of the option."""
        return self.option or f"{self.about}: {either([str(choice) for choice in self.answers])}."


def _asks(
    about: str, answers: Mapping[object, str], *, number: str = "", option: str = ""
) -> dict[str, Question | Description]:
    question = Question(about, answers, number, option)
    return {"question": question, "description": Description(question.help)}


@dataclass(frozen=True)
class Policy:
    """How to read a ranking where the data leave it open.

    >>> Policy(ties="average", depth=100).describe()
    'ties averaged over all orders, first 100 documents'
    >>> Policy(ties="avrage")
    Traceback (most recent call last):
    ranklens.errors.PolicyError: ties='avrage' is not allowed: did you mean 'average'? Allowed: 'descending', 'ascending', 'input', 'average'.
    """

    ties: Ties = field(
        default="descending",
        metadata=_asks(
            "Documents with the same score",
            {
                "descending": "by document id, descending",
                "ascending": "by document id, ascending",
                "input": "in input order",
                "average": "averaged over all orders",
            },
        ),
    )
    missing: MissingQueries = field(
        default="zero",
        metadata=_asks(
            "Judged queries missing from a run",
            {"zero": "count as 0", "skip": "are left out", "error": "are refused"},
        ),
    )
    unjudged_queries: UnjudgedQueries = field(
        default="ignore",
        metadata=_asks("Unjudged queries", {"ignore": "are ignored and counted", "error": "are refused"}),
    )
    empty: EmptyGold = field(
        default="zero",
        metadata=_asks(
            "Queries without relevant documents",
            {"zero": "count as 0", "one": "count as 1", "skip": "are left out"},
        ),
    )
    duplicates: Duplicates = field(
        default="first",
        metadata=_asks(
            "Documents that a ranking repeats",
            {"first": "count once, at their best rank, and later documents move up", "error": "are refused"},
        ),
    )
    judged_only: bool = field(
        default=False,
        metadata=_asks(
            "Unjudged documents",
            {False: "count as not relevant", True: "are removed from the ranking"},
            option="Remove unjudged documents from the ranking.",
        ),
    )
    nan: NaNScores = field(
        default="error",
        metadata=_asks("NaN scores", {"error": "are refused", "last": "are ranked last"}),
    )
    depth: int | None = field(
        default=None,
        metadata=_asks(
            "Documents used per ranking",
            {None: "all"},
            number="the first {}",
            option="Use the first N documents of each query.",
        ),
    )
    rel: float = field(
        default=1,
        metadata=_asks(
            "Relevant documents", {}, number="those from grade {}", option="Lowest relevant grade."
        ),
    )
    max_grade: float | None = field(
        default=None,
        metadata=_asks(
            "The best grade there can be",
            {None: "is the highest of all judgments"},
            number="is {}",
            option="Best grade of the scale, for ERR and others; by default the highest of all judgments.",
        ),
    )

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            choice = getattr(self, name)
            if choice not in allowed:
                raise PolicyError(Given(name, choice), f" is not allowed: {nearest(str(choice), allowed)}")
        if not isinstance(self.judged_only, bool):
            raise PolicyError(Given("judged_only", self.judged_only), " is not allowed: it is True or False.")
        whole = isinstance(self.depth, int) and not isinstance(self.depth, bool)
        if self.depth is not None and not (whole and 1 <= self.depth < 1 << 63):
            raise PolicyError(
                Given("depth", self.depth), " is not allowed: it is a whole number from 1, or None for all."
            )
        best: object = self.max_grade
        if best is not None and not (isinstance(best, Real) and 0 < float(best) < float("inf")):
            raise PolicyError(Given("max_grade", best), " is not allowed: it is a number above 0.")
        level: object = self.rel
        if isinstance(level, bool) or not (isinstance(level, Real) and float(level) > 0):
            raise PolicyError(
                Given("rel", self.rel), " is not allowed: the lowest relevant grade is a number above 0."
            )

    def describe(self) -> str:
        """What was decided about the ranking itself, in a few words; the counts next to it say the rest."""
        words = [f"ties {questions()['ties'].answer(self.ties)}"]
        if self.nan == "last":
            words.append("NaN scores ranked last")
        if self.depth is not None:
            words.append(f"first {self.depth} documents")
        if self.judged_only:
            words.append("unjudged documents removed")
        if self.rel != 1:
            words.append(f"relevant: grade {self.rel:g} or higher")
        return ", ".join(words)

    def in_prose(self, *, relevance: bool) -> list[str]:
        """The same for a paper, in sentences that state the defaults, too; ``relevance`` says whether any measure has a threshold.

        >>> Policy(ties="ascending").in_prose(relevance=True)[:2]
        ['Documents with the same score are ordered by document id, ascending.', 'Documents with grade 1 or higher are relevant.']
        """
        ties = questions()["ties"].answer(self.ties)
        if self.ties == "average":
            sentences = [f"Values are {ties} of documents with the same score."]
        else:
            sentences = [f"Documents with the same score are ordered {ties}."]
        if relevance:
            sentences.append(f"Documents with grade {self.rel:g} or higher are relevant.")
        for name, is_set in (("judged_only", self.judged_only), ("nan", self.nan == "last")):
            if is_set:
                asked = questions()[name]
                sentences.append(f"{asked.about} {asked.answer(getattr(self, name))}.")
        first = "Rankings are evaluated in full."
        if self.depth is not None:
            first = f"Only the first {self.depth:,} documents of each ranking are used."
        return [*sentences, first]

    def decisions(self) -> dict[str, str]:
        """What was decided, question by question.

        >>> Policy(missing="skip").decisions()["Judged queries missing from a run"]
        'are left out'
        """
        return {asked.about: asked.answer(getattr(self, name)) for name, asked in questions().items()}


class PolicyOptions(TypedDict, total=False):
    """The fields of :class:`Policy` as keyword arguments, so that type checkers know them: ``evaluate(..., ties="average")``."""

    ties: Ties
    missing: MissingQueries
    unjudged_queries: UnjudgedQueries
    empty: EmptyGold
    duplicates: Duplicates
    judged_only: bool
    nan: NaNScores
    depth: int | None
    rel: float
    max_grade: float | None


def questions() -> dict[str, Question]:
    """What each field of :class:`Policy` decides."""
    return dict(_QUESTIONS)


_QUESTIONS: dict[str, Question] = {one.name: one.metadata["question"] for one in dataclasses.fields(Policy)}
_CHOICES: dict[str, list[str]] = {}  # of the policies whose answers have names
for _name, _question in _QUESTIONS.items():
    if _named := [choice for choice in _question.answers if isinstance(choice, str)]:
        _CHOICES[_name] = _named
    if Policy.__doc__:  # python -OO drops it
        _answers = [f"{choice!r}: {answer}" for choice, answer in _question.answers.items()]
        _answers += [f"n: {_question.number.format('n')}"] if _question.number else []
        Policy.__doc__ += f"\n    {_name}\n        {_question.about}. {'; '.join(_answers)}.\n"

_DEFAULT = Policy()
_TAKES_MORE = 0x08  # inspect.CO_VARKEYWORDS, of code with ``**options``


def make_policy(policy: Policy | None, options: Mapping[str, Any], arguments: Iterable[str] = ()) -> Policy:
    """``policy`` with single fields replaced, so that ``evaluate(..., ties="average")`` reads well.

    ``arguments`` are those that the caller takes besides its own and policies.
    """
    if policy is not None and not isinstance(policy, Policy):
        raise PolicyError(
            Given("policy", policy),
            " is not a Policy; pass its fields one by one, as in ",
            Option("ties", "average"),
            ".",
        )
    if not options:
        return policy or _DEFAULT
    for name in options:
        if name in _QUESTIONS:
            continue
        caller = sys._getframe(1).f_code  # noqa: SLF001
        if not caller.co_flags & _TAKES_MORE:
            raise PolicyError(f"There is no policy {name!r}: {nearest(name, _QUESTIONS)}")
        # The name may be meant for one of the caller's own arguments.
        own = caller.co_varnames[: caller.co_argcount + caller.co_kwonlyargcount]
        hint = closest(name, [*own, *arguments, *_QUESTIONS])
        raise PolicyError(f"There is no argument {name!r}: {hint}Policies: {', '.join(_QUESTIONS)}.")
    return dataclasses.replace(policy or _DEFAULT, **options)
