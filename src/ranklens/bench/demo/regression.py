"""The short demo: a change that looks harmless, and the gate that catches it.

A help centre is cut into chunks of 120 words and searched with BM25; then the chunks are halved. Nothing is stored: the
articles and questions are in ``help_centre.txt``, and everything else is computed when the demo runs.
"""

from __future__ import annotations

import json
import re
import textwrap
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from ranklens.bench.demo.files import make_folder, write_lines
from ranklens.bench.demo.retrievers import FullText, words
from ranklens.data.matching.texts import ByText
from ranklens.tables.table import Table
from ranklens.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ranklens.comparison.comparison import Comparison
    from ranklens.guard.verdicts import Outcome

FILE = Path(__file__).with_name("help_centre.txt")
BEFORE, AFTER = "120 words", "60 words"
RULE = "hit@3 drop <= 0.02 @ 95%"
MEASURES = ("hit@3", "mrr")
_K = 3
_SHOWN = 4  # questions that lost their answer
_WIDTH = 80
_INTRODUCTION = """\
A help centre of {} articles, {} questions from customers, and BM25 as the
retriever. One change looks harmless: chunks of 60 words instead of 120. A
question counts as answered if the top 3 chunks contain the expected passage."""


class Question(TypedDict):
    """One line of a golden set."""

    id: str
    question: str
    expected_answer: list[str]


class Chunk(TypedDict):
    """One retrieved item of a log."""

    chunk_id: str
    text: str
    score: float


class Answer(TypedDict):
    """One line of a log: what was retrieved for a question, best first."""

    question_id: str
    retrieved: list[Chunk]


class HelpCentre(NamedTuple):
    """Articles by name, and the questions that customers ask."""

    articles: dict[str, str]
    golden: list[Question]


def load() -> HelpCentre:
    """The help centre as it is written in its file.

    >>> centre = load()
    >>> centre.golden[1]["question"], centre.golden[1]["expected_answer"]
    ('How many days do I have to return an order?', ['You have 45 days after delivery'])
    """
    articles: dict[str, str] = {}
    golden: list[Question] = []
    _, *blocks = re.split(r"\n\s*\n", FILE.read_text(encoding="utf-8").strip())
    for block in blocks:
        head, *lines = block.splitlines()
        name, _, title = head[1:].partition("] ")
        articles[name] = " ".join([f"{title}.", *(line for line in lines if line[0] not in "?=")])
        asked = [line[2:] for line in lines if line[0] == "?"]
        answers = [line[2:] for line in lines if line[0] == "="]
        golden += [
            {"id": f"{name}-{number}", "question": question, "expected_answer": [answer]}
            for number, (question, answer) in enumerate(zip(asked, answers, strict=True), 1)
        ]
    return HelpCentre(articles, golden)


def cut(articles: Mapping[str, str], size: int) -> dict[str, str]:
    """Each article in chunks of ``size`` words.

    >>> cut({"a": "one two three"}, 2)
    {'a#1': 'one two', 'a#2': 'three'}
    """
    return {
        f"{name}#{number}": " ".join(every[start : start + size])
        for name, text in articles.items()
        for every in [text.split()]
        for number, start in enumerate(range(0, len(every), size), 1)
    }


def ask(golden: Iterable[Question], chunks: Mapping[str, str]) -> list[Answer]:
    """The log of a BM25 retriever over the texts of the chunks."""
    ids = {str(number): chunk_id for number, chunk_id in enumerate(chunks)}  # names are searched as well
    search = FullText({number: chunks[ids[number]] for number in ids}, "porter unicode61", words)
    return [
        {
            "question_id": question["id"],
            "retrieved": [
                {"chunk_id": ids[number], "text": chunks[ids[number]], "score": score}
                for number, score in search(question["question"], _K)
            ],
        }
        for question in golden
    ]


@dataclass(frozen=True)
class Regression:
    """Two logs for one golden set."""

    centre: HelpCentre
    before: list[Answer]
    after: list[Answer]

    @classmethod
    def run(cls) -> Regression:
        """Ask every question twice: before and after the change."""
        centre = load()
        return cls(
            centre,
            *(ask(centre.golden, cut(centre.articles, int(name.split()[0]))) for name in (BEFORE, AFTER)),
        )

    @cached_property
    def comparison(self) -> Comparison:
        from ranklens.comparison.compare import compare

        logs = {BEFORE: self.before, AFTER: self.after}
        return compare(self.centre.golden, logs, MEASURES, baseline=BEFORE, match=ByText())

    @cached_property
    def gate(self) -> Outcome:
        from ranklens.guard.checking import gate

        before, after = (self.comparison.scores[name] for name in (BEFORE, AFTER))
        return gate({AFTER: after}, RULE, baseline={AFTER: before})

    def __str__(self) -> str:
        """Means, verdict, and the questions behind it, in 80 columns."""
        changes = self.comparison.queries("hit@3", BEFORE, AFTER)
        worse = {query for query, change in changes.select("query", "difference").iter_rows() if change < 0}
        rows = []
        for measure in MEASURES:
            pair = self.comparison.pair(measure, BEFORE, AFTER)
            around = f"[{pair.interval.low:+.3f}, {pair.interval.high:+.3f}]"
            p = "< 0.001" if pair.p_value < 0.001 else f"{pair.p_value:.3f}"
            means = f"{pair.mean_a:.3f}", f"{pair.mean_b:.3f}", f"{pair.difference:+.3f}"
            rows.append([measure, *means, around, p])
        lost = [question for question in self.centre.golden if question["id"] in worse]
        retrieved = {one["question_id"]: one["retrieved"] for one in self.after}
        stories = []
        for question in lost[
            :_SHOWN
        ]:  # what was asked, what should have been read, and what came first instead
            lines = [f"  {question['question']}", f"    expected   {question['expected_answer'][0]}"]
            if chunks := retrieved[question["id"]]:
                lines.append(f"    retrieved  {textwrap.shorten(chunks[0]['text'], 62, placeholder=' …')}")
            stories.append("\n".join(lines))
        first = f", the first {_SHOWN} of them" if len(lost) > _SHOWN else ""
        return "\n\n".join(
            [
                _INTRODUCTION.format(len(self.centre.articles), len(self.centre.golden)),
                str(Table(["measure", BEFORE, AFTER, "change", "95% interval", "p-value"], rows)),
                f"Gate {'passed' if self.gate.passed else 'failed'}: {RULE}",
                *(textwrap.fill(one.text, _WIDTH, break_long_words=False) for one in self.gate.verdicts),
                f"{counted(len(lost), 'question')} lost the answer{first}:",
                *stories,
            ]
        )

    def save(self, folder: Path) -> None:
        """Write ``golden.jsonl``, ``before.jsonl`` and ``after.jsonl``."""
        make_folder(folder)
        for name, rows in (("golden", self.centre.golden), ("before", self.before), ("after", self.after)):
            write_lines(folder / f"{name}.jsonl", map(json.dumps, rows))
