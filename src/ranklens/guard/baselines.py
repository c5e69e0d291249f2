"""What results are compared with: a frozen file that is committed and changed only on purpose, or an entry of the history."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from ranklens import __version__, words
from ranklens.data.files.json_reading import loads
from ranklens.data.files.json_schema import fault, shown
from ranklens.errors import InputError, InPython, RankLensError, nearest
from ranklens.metrics import parse
from ranklens.policy import make_policy
from ranklens.scores import Scores, Values, total
from ranklens.scores.checking import check_mean, check_values, damaged
from ranklens.scores.history.record import Record, Setting
from ranklens.scores.history.store import History
from ranklens.words import brief, counted, several

FORMAT = "ranklens-baseline"
FORMAT_VERSION = 1
HISTORY = "history:"
_DIGITS = 12  # of a value: far more than tables show, and the same on every machine


@dataclass(frozen=True, eq=False)
class Baseline:
    """Records by system, and where they come from.

    >>> import tempfile, ranklens as rl
    >>> scores = rl.evaluate({"q1": {"a": 1}}, {"q1": ["x", "a"]}, "RR")
    >>> path = Path(tempfile.mkdtemp()) / "baseline.json"
    >>> Baseline({"mine": Record.of(scores, "mine")}).write(path)
    >>> Baseline.read(path).of("mine").mean("RR")
    0.5
    """

    records: Mapping[str, Record]
    name: str = "the baseline"

    @classmethod
    def of_any(
        cls, given: object, *, history: History | None = None, systems: Sequence[str] = ()
    ) -> Baseline:
        """From a file, ``history:REF``, scores, records, or ``{system: scores or record}``."""
        if isinstance(given, Baseline):
            return given
        if isinstance(given, str) and given.startswith(HISTORY):
            return cls.find(given.removeprefix(HISTORY), history or History(), systems)
        if isinstance(given, (str, Path)):
            return cls.read(Path(given))
        records = {}
        for name, one in (given if isinstance(given, Mapping) else {"baseline": given}).items():
            if not isinstance(one, (Scores, Record)):
                raise InputError(
                    f"The baseline is {words.kind(given)}; pass the path of a baseline file, 'history:REF', or scores."
                )
            records[str(name)] = one if isinstance(one, Record) else Record.of(one, str(name))
        return cls(records)

    @classmethod
    def find(cls, ref: str, history: History, systems: Sequence[str] = ()) -> Baseline:
        """The newest entry that ``ref`` means, for each system."""
        entries = {name: history.find(ref, system=name) for name in systems} or {"": history.find(ref)}
        records = {name or entry.system: history.record(entry) for name, entry in entries.items()}
        names = dict.fromkeys(entry.name for entry in entries.values())
        return cls(records, f"{HISTORY}{ref} ({several(list(names))})")

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """A file that :meth:`write` wrote; one that was changed by hand is refused."""
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise InputError(
                f"{path}: there is no baseline yet. Write it with ", *_UPDATE, ", then commit it."
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} cannot be read: {error}.") from None
        return cls.from_text(text, str(path))

    @classmethod
    def from_text(cls, text: str, path: str) -> Baseline:
        """What :meth:`to_text` gave; ``path`` is the file that messages name."""
        try:
            content = loads(text)
        except ValueError as error:
            place, what = path, str(error)
            if isinstance(error, json.JSONDecodeError):
                place, what = f"{path}:{error.lineno}", error.msg
            raise InputError(
                f"{place}: not a baseline: {what}. Restore the file, or write it anew with ", *_UPDATE, "."
            ) from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InputError(f"{path} is not a baseline. Write one with ", *_UPDATE, ".")
        if content.get("format_version") != FORMAT_VERSION:
            raise InputError(
                f"{path} has version {shown(content.get('format_version'))} of the format; this RankLens reads {FORMAT_VERSION}."
            )
        if content.get("checksum") != _checksum(content.get("systems")):
            raise InputError(
                f"{path} was changed by hand, or badly merged. Restore it, or write it anew with ",
                *_UPDATE,
                ".",
            )
        try:
            _check(content)
        except RankLensError as error:
            error.prefix(f"{path}: ")
            raise
        return cls({name: _record(name, one) for name, one in content["systems"].items()}, path)

    def write(self, path: Path) -> None:
        """Write :meth:`to_text` to a file, completely or not at all."""
        from ranklens.data.files.output import write_text

        write_text(self.to_text(), path)

    def to_text(self) -> str:
        """One line per query, so that a review shows what changed; the same results give the same text."""
        systems: dict[str, _System] = {}
        for name, record in sorted(self.records.items()):
            columns = list(record.values.values())
            systems[name] = {
                "policy": dict(sorted(record.policy.items())),
                "judgments": record.judgments,
                "failed": record.failed,
                "means": {name: _rounded(record.mean(name)) for name in record.measures},
                "queries": {
                    query: [record.digests.get(query, ""), *(_rounded(values[place]) for values in columns)]
                    for query, place in sorted(record.values.place.items())
                },
            }
        head = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "about": "Results that `ranklens gate` compares with. Commit this file; change it with `ranklens gate --update` only.",
            "ranklens": __version__,
            "checksum": _checksum(systems),
        }

        def text(value: object) -> str:
            return json.dumps(value, ensure_ascii=False)

        parts = []
        for name, content in systems.items():
            about = [f"   {text(key)}: {text(value)}," for key, value in content.items() if key != "queries"]
            rows = ",\n".join(f"    {text(query)}: {text(row)}" for query, row in content["queries"].items())
            begin = [f"  {text(name)}: {{", *about, '   "queries": {', *([rows] if rows else [])]
            parts.append("\n".join([*begin, "   }", "  }"]))
        lines = ["{", *(f" {text(key)}: {text(value)}," for key, value in head.items()), ' "systems": {']
        return "\n".join([*lines, *([",\n".join(parts)] if parts else []), " }", "}", ""])

    def of(self, system: str) -> Record:
        """The record of a system of the same name; the only one, if there is one."""
        if system in self.records:
            return self.records[system]
        if len(self.records) == 1:
            return next(iter(self.records.values()))
        raise InputError(f"{self.name} has no system {system!r}: {nearest(system, self.records)}")


_UPDATE = (InPython("Baseline.write, or ranklens gate --update", "ranklens gate … --update"),)


class _System(TypedDict):
    """What a file says of one system."""

    policy: dict[str, Setting]
    judgments: str
    failed: int | None
    means: dict[str, float]
    queries: dict[str, list[str | float]]  # the digest of the judgments, and a value for each measure


def _rounded(value: float) -> float:
    return float(f"{float(value):.{_DIGITS}g}")


def _record(name: str, content: _System) -> Record:
    queries = content["queries"]
    rows = np.array([row[1:] for row in queries.values()], dtype=float).reshape(len(queries), -1)
    return Record(
        name,
        Values(tuple(queries), {measure: rows[:, place] for place, measure in enumerate(content["means"])}),
        content["policy"],
        {query: str(row[0]) for query, row in queries.items() if row[0]},
        content["failed"],
    )


_SYSTEM = {
    "type": "object",
    "required": ["policy", "judgments", "failed", "means", "queries"],
    "properties": {
        "policy": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null"]}},
        "judgments": {"type": "string"},
        "failed": {"type": ["integer", "null"], "minimum": 0},
        "means": {"type": "object", "additionalProperties": {"type": "number"}},
        "queries": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": ["string", "number"]}}},
    },
}  # fmt: skip
_SYSTEMS = {"type": "object", "minProperties": 1, "additionalProperties": _SYSTEM}
_SCHEMA = {"required": ["systems"], "properties": {"systems": _SYSTEMS}}


def _check(content: Mapping[str, Any]) -> None:
    """Refuse a file whose checksum is right, but that contradicts itself: an edit can bring its own checksum."""
    wrong = fault(content, _SCHEMA)
    if wrong:
        raise damaged(wrong)
    for name, one in content["systems"].items():
        place, queries, measures = f"systems.{brief(name)}", [*one["queries"]], [*one["means"]]
        make_policy(None, {key: value for key, value in one["policy"].items() if key != "match"})
        for query, row in one["queries"].items():
            if len(row) != 1 + len(measures) or not isinstance(row[0], str):
                raise damaged(
                    f"{place}.queries.{brief(query)} must have the digest of its judgments and {counted(len(measures), 'number')}"
                )
        for column, measure in enumerate(measures, 1):
            values = [row[column] for row in one["queries"].values()]
            check_values(measure, values, queries, f"{place}: {measure}")
            mean = total(parse(measure).definition.aggregate, np.array(values, float))
            check_mean(one["means"][measure], mean, f"{place}.means.{measure}")
        if _record(name, one).judgments != one["judgments"]:
            raise damaged(f"{place}.judgments does not match the digests of its queries")


def _checksum(systems: object) -> str:
    return hashlib.sha256(json.dumps(systems, sort_keys=True).encode()).hexdigest()[:32]
