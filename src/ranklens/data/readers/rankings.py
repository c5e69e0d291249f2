"""What was read of golden sets and logs; and rankings in which one retrieved item may stand for several judged documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from ranklens.data.evidence.contexts import Contexts
    from ranklens.data.readers.chunks import Chunk, Passage

# By query and rank: what the item at this rank holds besides the passage that it is listed under.
Further: TypeAlias = "Mapping[str, Mapping[int, Sequence[str]]]"


class Rankings(dict[str, list[str]]):
    """A run ``{query: [documents, best first]}`` that knows which ``further`` passages an item holds.

    A chunk that holds three expected passages is one item of the ranking, listed under the best of them; the other two are at the
    same rank.
    """

    def __init__(
        self, rankings: Mapping[str, list[str]], further: Further, contexts: Contexts | None = None
    ) -> None:
        super().__init__(rankings)
        self.further = further
        self.contexts = contexts  # the chunks, where passages are judged


@dataclass(frozen=True)
class Question:
    """What a row is about: an id, else the text, else the number of the row; and the text if there is one."""

    id: str
    text: str | None = None
    has_id: bool = False


class Golden(dict[str, dict[str, float]]):
    """Judgments ``{query: {document: grade}}`` that also know the texts of questions, and which have no answer.

    Unanswerable questions are not among the judgments: no document is right for them, so they would be plain zeros.
    """

    def __init__(
        self,
        judgments: Mapping[str, dict[str, float]],
        questions: Mapping[str, Question],
        unanswerable: Iterable[str] = (),
        fields: Mapping[str, Mapping[str, object]] | None = None,
        passages: Mapping[str, Mapping[str, Passage]] | None = None,
    ) -> None:
        super().__init__(judgments)
        self.questions = questions
        self.unanswerable = frozenset(unanswerable)
        self.fields = fields or {}  # what else is said about each question, to slice by
        self.passages = passages or {}  # what the judged ids stand for, where passages are judged

    @property
    def texts(self) -> dict[str, str]:
        return texts_of(self.questions)

    @cached_property
    def by_text(self) -> dict[str, list[str]]:
        """The questions with each text, to find those of a log."""
        names: dict[str, list[str]] = {}
        for name, text in self.texts.items():
            names.setdefault(one_line(text), []).append(name)
        return names


@dataclass(frozen=True)
class Entry:
    """What a log says about one question."""

    ids: Sequence[str] = ()
    scores: Sequence[float | None] | None = None
    error: str | None = None
    seconds: float | None = None
    cost: float | None = None
    tokens: float | None = None
    chunks: Sequence[Chunk] = ()  # parallel to the ids, where texts or spans are matched
    steps: Sequence[int] = ()  # which of several retrievals returned each id, from 1; parallel to the ids
    calls: int = 1

    def abstains(self, below: float | None) -> bool:
        """Whether nothing was retrieved, or nothing that scores at least ``below``."""
        if below is None or not self.ids:
            return not self.ids
        return self.scores is not None and all(score is not None and score < below for score in self.scores)


class Log(dict[str, list[str]]):
    """A run ``{query: [documents, best first]}`` that also knows what failed and what each question took.

    Failed requests are not in the run; they are in ``failed``, with what went wrong.
    """

    def __init__(
        self,
        entries: Mapping[str, Entry],
        questions: Mapping[str, Question],
        joined: Literal["id", "text"] = "id",
        again: int = 0,
    ) -> None:
        super().__init__({name: list(entry.ids) for name, entry in entries.items() if entry.error is None})
        self.entries, self.questions, self.joined = entries, questions, joined
        self.again = again  # entries for questions that had one already

    @property
    def failed(self) -> dict[str, str]:
        return {name: entry.error for name, entry in self.entries.items() if entry.error is not None}

    @property
    def texts(self) -> dict[str, str]:
        return texts_of(self.questions)

    def joined_by_text(self, new: Mapping[str, Sequence[str]]) -> Log:
        """The same under other ids, each question under all of its own; what has none keeps its id."""
        entries: dict[str, Entry] = {}
        again = self.again
        for name, entry in self.entries.items():
            names_now = new.get(name, [name])
            again += names_now[0] in entries
            entries.update((now, entry) for now in names_now if entry.error is None or now not in entries)
        questions = {
            now: question for name, question in self.questions.items() for now in new.get(name, [name])
        }
        return Log(entries, questions, "text", again)


def texts_of(questions: Mapping[str, Question]) -> dict[str, str]:
    """The texts of those questions that have one."""
    return {name: question.text for name, question in questions.items() if question.text is not None}


def one_line(text: str) -> str:
    """A text without the white space that copies of it may differ in."""
    return " ".join(text.split())


def listed(matches: Sequence[Sequence[str]]) -> tuple[list[str], dict[int, Sequence[str]]]:
    """A ranking from what each item stands for, the best first: its ids, and what else the items hold, by rank.

    Of several items that are the same judged document the first counts, and those below move up.

    >>> listed([("a", "b"), ("x",), ("a",), ("c", "d")])
    (['a', 'x', 'c'], {1: ('b',), 3: ('d',)})
    """
    ids = list(dict.fromkeys(names[0] for names in matches))
    others = {names[0]: names[1:] for names in matches if len(names) > 1}
    return ids, {rank: others[doc] for rank, doc in enumerate(ids, 1) if doc in others}
