"""What an inspection found: tables and sentences for people, dicts for programs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ranklens.tables.table import Lines, Printout, Table
from ranklens.words import brief, several

Role = Literal[
    "golden set", "golden set and log", "judgments", "log", "run", "corpus", "questions", "traces", "unknown"
]
GOLD: tuple[Role, ...] = ("golden set", "golden set and log", "judgments")
RANKED: tuple[Role, ...] = ("log", "run", "golden set and log", "traces")


@dataclass(frozen=True)
class Field:
    """Where something is in a file: what it means, under which name, and an example."""

    role: str
    name: str
    example: str


@dataclass(frozen=True)
class Problem:
    """Something that is wrong, and the option that mends it, if there is one."""

    message: str
    fix: str = ""


@dataclass(frozen=True)
class Inspected:
    """One file: what was recognised, which field became what, examples, and what is wrong."""

    path: str
    role: Role
    format: str
    encoding: str
    size: str  # such as "40 questions, 3 of them unanswerable"
    fields: tuple[Field, ...]
    unused: tuple[str, ...]
    examples: tuple[str, ...]
    problems: tuple[Problem, ...]
    readable: bool  # as it is, or with the options that mend its problems
    systems: int = 1  # in a file of traces, one for each retriever

    def parts(self) -> Iterator[Table | Lines]:
        """The file as tables and sentences."""
        how = ", ".join(filter(None, (self.format, self.encoding)))
        title = ", ".join(
            filter(None, (f"{self.path}: {self.role}" + (f" ({how})" if how else ""), self.size))
        )
        if self.fields:
            rows = [[one.role, brief(one.name, 26), brief(one.example, 38)] for one in self.fields]
            note = (
                f"Not used: {several([brief(name, 24) for name in self.unused], 3)}." if self.unused else ""
            )
            yield Table(("role", "field", "example"), rows, note, title, left=3)
        else:
            yield Lines(title, [])
        if self.examples:
            yield Lines("Rows", self.examples)
        if self.problems:
            yield Lines(
                "Problems", [line for one in self.problems for line in _with_fix(one.message, one.fix)]
            )


@dataclass(frozen=True)
class Joined:
    """How two files join: ids in common, and what would help."""

    one: str
    other: str
    what: str
    common: int
    of: int
    note: str = ""
    fix: str = ""


@dataclass(frozen=True)
class Inspection:
    """What :func:`inspect` found."""

    files: tuple[Inspected, ...]
    joins: tuple[Joined, ...]

    @cached_property
    def fixes(self) -> tuple[str, ...]:
        """The options that mend the problems, each once."""
        found = [problem.fix for file in self.files for problem in file.problems]
        return tuple(dict.fromkeys(filter(None, [*found, *(join.fix for join in self.joins)])))

    @property
    def command(self) -> str:
        """The command that scores these files; empty unless there are judgments and rankings."""
        gold = [file for file in self.files if file.role in GOLD]
        runs = [file for file in self.files if file.role in RANKED]
        if not gold or not runs or not all(file.readable for file in (*gold, *runs)):
            return ""
        does = "evaluate" if sum(run.systems for run in runs) == 1 else "compare"
        return " ".join(
            [
                "ranklens",
                does,
                shlex.quote(gold[0].path),
                *(shlex.quote(run.path) for run in runs),
                *self.fixes,
            ]
        )

    @property
    def has_problems(self) -> bool:
        """Whether anything has to be mended."""
        return any(file.problems for file in self.files) or any(join.note for join in self.joins)

    def printout(self) -> Printout:
        """The whole inspection as readable text."""
        parts = [part for file in self.files for part in file.parts()]
        if self.joins:
            rows = [
                [
                    brief(f"{Path(join.one).name} + {Path(join.other).name}", 40),
                    join.what,
                    f"{join.common:,} of {join.of:,}",
                ]
                for join in self.joins
            ]
            parts.append(Table(("files", "ids in common", "count"), rows, left=2))
            notes = [line for join in self.joins if join.note for line in _with_fix(join.note, join.fix)]
            if notes:
                parts.append(Lines("Joins", notes))
        if self.command:
            parts.append(Lines("Next", [self.command]))
        return Printout(parts)

    def to_dict(self) -> dict[str, Any]:
        """All of it, for programs."""
        return {
            "files": [asdict(file) for file in self.files],
            "joins": [asdict(join) for join in self.joins],
            "fixes": list(self.fixes),
            "command": self.command,
        }

    def __str__(self) -> str:
        return str(self.printout())

    def _repr_html_(self) -> str:
        return self.printout().to_html()


def _with_fix(message: str, fix: str) -> list[str]:
    """A problem, and on a line of its own what mends it, so that it can be copied."""
    return [message, f"Fix: {fix}"] if fix else [message]
