"""One file: format, encoding and role, which field became what, and the options that mend what is wrong."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ranklens.data.files import formats, recognition, trec
from ranklens.data.files.encodings import wide_encoding
from ranklens.data.files.json_files import json_document, json_lines
from ranklens.data.files.sources import BOM, MAGIC, PathLike, Source, open_source
from ranklens.data.files.suffixes import WORKBOOKS, name_of_file, names_of_path, suffix_of
from ranklens.data.files.tables import frame_of_rows
from ranklens.data.matching.parsing import spelled
from ranklens.data.matching.rules import Matching
from ranklens.data.qrels import Qrels, read_qrels
from ranklens.data.readers import frames, names, records
from ranklens.data.readers.cells import lists_questions, with_lists
from ranklens.data.readers.names import Names, given, plain
from ranklens.data.readers.paths import follow
from ranklens.data.run import Run, read_run
from ranklens.data.traces.runs import from_traces
from ranklens.data.traces.spans import are_spans
from ranklens.errors import InputError, RankLensError, hearing
from ranklens.judging.documents import judgments
from ranklens.process import as_option
from ranklens.recipes.inspection.results import GOLD, RANKED, Field, Inspected, Problem, Role
from ranklens.words import counted, several

_LOOKED_AT = 1_000  # rows that show which fields there are
_EXAMPLES, _ROW = 2, 76  # rows that are shown, and letters of each
_TRIES = 4  # mistakes of one file, each of which hides the next
_OTHER_TRACES = {"observations", "run_type"}  # of Langfuse and LangSmith
_SURELY_EXPECTED = tuple(name for name in names.EXPECTED_TEXTS if name not in ("answer", "answers"))
_READ_BESIDES = {
    *names.SECONDS,
    *names.MILLISECONDS,
    *names.COSTS,
    *names.TOKENS,
    *names.STATUSES,
    *names.GRADES_APART,
}
_FLAG = re.compile(r"--(map|match) ('[^']+'|\S+?)(?=[.,;]?(?:\s|$))")
_TREC_ROLES = {4: ("query", "iteration", "doc", "grade"), 6: ("query", "Q0", "doc", "rank", "score", "tag")}
_ROLES = ("query", "text", "expected", "retrieved", "doc", "score", "rank", "grade", "answerable", "error")


class Reading:
    """A file being inspected."""

    def __init__(
        self, path: str, columns: Mapping[str, str], matching: Matching | None, *, is_first: bool, alone: bool
    ) -> None:
        self.path, self.columns, self.matching = path, dict(columns), matching
        self.is_first, self.alone = is_first, alone
        self.place: PathLike = path
        self.role: Role = "unknown"
        self.format, self.encoding, self.size = "", "", ""
        self.rows: list[dict[str, object]] = []
        self.examples: tuple[str, ...] = ()
        self.fields: list[Field] = []
        self.problems: list[Problem] = []
        self.readable = False
        self.gold: Qrels | None = None
        self.runs: dict[str, Run] = {}

    @property
    def names(self) -> Names:
        every = ("golden", "qrels") if self.role in GOLD else ("run", "log")
        return Names.of(self.columns, self.matching).for_input(*every, *names_of_path(self.path))

    def look(self) -> Reading:
        """Recognise the file, and read it as what it seems to be; what is suggested is tried at once."""
        try:
            if self.path == "-" or Path(self.path).is_fifo():  # which can be read once alone
                self.place = open_source(self.path)
            place, kind = recognition.locate(self.place, None, "qrels")
            self._recognise(place, kind)
        except RankLensError as error:
            self.problems.append(Problem(error.spelled(as_option)))
            return self
        except trec.WrongLine as error:  # in a file whose format is not recognised, such as a picture
            self.problems.append(Problem(f"{error}"))
            return self
        with hearing() as heard:
            for _ in range(_TRIES):
                try:
                    self._read()
                    self.readable = self.role != "unknown"
                    break
                except RankLensError as error:
                    if not self._mended(error.spelled(as_option)):
                        break
                except (TypeError, ValueError):  # of objects within objects that no reader expects
                    self.problems.append(
                        Problem(
                            "its rows are nested in a way that is not recognised; write one object per question."
                        )
                    )
                    break
        self._find_fields()
        texts = dict.fromkeys(one.spelled(as_option) for one in heard)
        self.problems += [
            Problem(text) for text in texts if text not in [one.message for one in self.problems]
        ]
        return self

    def refuse(self, error: RankLensError) -> None:
        """Note that the file cannot be used after all."""
        self.problems.append(Problem(error.spelled(as_option)))
        self.readable = False

    def result(self) -> Inspected:
        used = {field.name.partition(".")[0].partition("[")[0] for field in self.fields}
        keys = dict.fromkeys(key for row in self.rows for key in row)
        unused = [key for key in keys if key not in used and plain(str(key)) not in _READ_BESIDES]
        return Inspected(
            self.path, self.role, self.format, self.encoding, self.size, tuple(self.fields), tuple(unused),
            tuple(map(_start, self.examples)), tuple(self.problems), self.readable, max(1, len(self.runs)),
        )  # fmt: skip

    def _mended(self, message: str) -> bool:
        """Note a problem, and take up the option that its message suggests; whether there is a new one."""
        flag = next(iter(_FLAG.findall(message)), None)
        if flag is None or "FIELD" in flag[1] or "COLUMN" in flag[1]:
            self.problems.append(Problem(message))
            return False
        option, text = flag[0], flag[1].strip("'")
        if option == "match":
            new, self.matching = self.matching is None, self.matching or spelled(text)
        else:
            role, _, place = text.partition("=")
            new = role not in self.columns
            self.columns[role] = place
            if not self.alone and ":" not in role:
                own = "golden" if self.role in GOLD or self.is_first else name_of_file(self.path)
                text = f"{own}:{text}"
        said = (
            message[: message.index(f"--{option}")]
            .rpartition(".")[0]
            .partition(" Accepted:")[0]
            .partition(" If it has")[0]
        )
        self.problems.append(
            Problem(f"{said.rstrip('.')}." if said else message, f"--{option} {shlex.quote(text)}")
        )
        return new

    def _recognise(self, place: Any, kind: str) -> None:
        self.format, self.encoding = kind, _encoding(self.path)
        if suffix_of(Path(self.path)) in WORKBOOKS:
            self.format, self.encoding = "workbook", ""
        if kind in ("trec", "trec-diversity", "msmarco", "svmlight"):
            self._recognise_fields(place, kind)
            return
        if kind == "beir":
            self.role = "judgments"
            return
        content = _content(place, kind, self.names)
        if isinstance(content, Mapping):
            is_trace = are_spans(content)
            first = next(iter(content.values()), None)
            numbers = list(first.values()) if isinstance(first, Mapping) else []
            has_fractions = any(isinstance(number, float) and number != int(number) for number in numbers)
            self.role = (
                "traces"
                if is_trace
                else "run"
                if has_fractions or (isinstance(first, list) and not self.is_first)
                else "judgments"
            )
            self.examples = tuple(
                json.dumps({k: v}, ensure_ascii=False) for k, v in islice(content.items(), _EXAMPLES)
            )
            self.examples = () if is_trace else self.examples
            return
        self.rows = [row for row in content if isinstance(row, dict)]
        self.examples = tuple(
            json.dumps({k: v for k, v in row.items() if v is not None}, ensure_ascii=False, default=str)
            for row in self.rows[:_EXAMPLES]
        )
        columns = list(dict.fromkeys(str(key) for row in self.rows for key in row))
        if lists_questions(columns, "log", self.names):  # with scores, each row is about one document
            self.rows = with_lists(self.rows, self.names)
        is_trace = are_spans(self.rows) or not _OTHER_TRACES.isdisjoint(map(plain, columns))
        self.role = "traces" if is_trace else self._role_of_rows(columns)

    def _recognise_fields(self, place: Any, kind: str) -> None:
        lines = trec.decode(place.head().rpartition(b"\n")[0] or place.head()).split("\n")
        self.examples = tuple(line.strip() for line in lines[:_EXAMPLES])
        fields = trec.first_fields(place)
        self.role = (
            "run" if kind == "msmarco" or (kind == "trec" and len(fields) in (1, 3, 6)) else "judgments"
        )
        meanings = _TREC_ROLES.get(len(fields), ()) if kind == "trec" else ()
        self.fields = [
            Field(role, f"field {number}", text)
            for number, (role, text) in enumerate(zip(meanings, fields, strict=False), 1)
            if role not in ("iteration", "Q0", "tag")
        ]

    def _role_of_rows(self, columns: Sequence[str]) -> Role:
        in_short, where = {*map(plain, columns)}, self.names
        has_lists = any(records.lists_documents(row, where) for row in self.rows)
        of_documents = frames.has_documents_among(columns) or "doc" in where.own
        has_text = not in_short.isdisjoint((*names.TEXTS_INSIDE, "title"))
        if of_documents and not has_lists:
            return _role_of_documents(in_short)
        if (self.is_first or self.alone) and _holds_passages(in_short):
            return "golden set"
        expects = any(records.says_what_is_relevant(row, where) for row in self.rows)
        # A log may have references as well, and beside what was retrieved "answer" is what a model said.
        has_log = any(records.says_what_was_retrieved(row, where) for row in self.rows)
        texts = _SURELY_EXPECTED if has_log else names.EXPECTED_TEXTS
        expects = expects or ((self.is_first or self.alone or not has_log) and not in_short.isdisjoint(texts))
        if expects or has_log:
            return "golden set and log" if expects and has_log else "golden set" if expects else "log"
        if has_text and in_short.isdisjoint(("question", "query_text", "user_input", "query")):
            return "questions" if "quer" in Path(self.path).name.lower() else "corpus"
        lists = any(isinstance(value, (list, dict)) for row in self.rows for value in row.values())
        has_cells = any(
            isinstance(value, str) and "|" in value for row in self.rows for value in row.values()
        )
        if lists or has_cells:
            return "golden set" if self.is_first or self.alone else "log"
        return "questions" if not in_short.isdisjoint(names.QUERY_TEXTS) else "unknown"

    def _read(self) -> None:
        """Read the file as what it is, for what it holds and for what its reader says of it."""
        self._refuse_guess()
        if self.role in GOLD:
            gold = read_qrels(self.place, self.names)
            judged = judgments(gold)
            self.gold = gold
            questions = len({*judged["query"], *gold.questions})
            asked = ("question", "questions") if gold.questions else ("judged query", "judged queries")
            self.size = f"{counted(questions, *asked)}, {counted(len(judged), 'judged document')}"
            if gold.unanswerable:
                self.size += f", {len(gold.unanswerable):,} without an answer"
        if self.role in RANKED and self.role != "traces":
            run_names = Names.of(self.columns, self.matching)
            run = read_run(self.place, self.gold or Qrels({}), run_names)
            self.runs = {self.path: run}
            if self.role != "golden set and log":
                self.size = _size_of(run)
        if self.role == "traces":
            found = from_traces(self.path)
            self.size = several([f"{name}: {counted(len(log), 'question')}" for name, log in found.items()])
            several_runs = len(found) > 1
            self.runs = {
                f"{self.path} ({name})" if several_runs else self.path: Run.of(log)
                for name, log in found.items()
            }
        if self.role in ("corpus", "questions"):
            self.size = counted(len(self.rows), "row") + (" or more" if len(self.rows) >= _LOOKED_AT else "")
        if self.role == "unknown" and not self.rows:
            self.problems.append(Problem("There are no rows."))
        elif self.role == "unknown":
            self.problems.append(
                Problem(
                    f"Nothing here is known by its name: the fields are {several(list(map(repr, self.rows[0])))}. "
                    "Name them with --map ROLE=FIELD, where ROLE is query, text, expected, retrieved, doc, score, rank or grade."
                )
            )

    def _refuse_guess(self) -> None:
        """Raise an error where only the shape of the rows tells what they are, and no name."""
        columns = list(self.rows[0]) if self.rows else []
        role = {"golden set": "expected", "log": "retrieved"}.get(self.role, "")
        if not role or any(records.is_record(row, self.names) for row in self.rows):
            return
        if role == "expected" and not {*map(plain, columns)}.isdisjoint(names.EXPECTED_TEXTS):
            return
        does = "what is relevant" if role == "expected" else "what was retrieved"
        raise InputError(
            f"No field with a known name says {does}; the fields are {', '.join(columns)}.",
            *records.where_it_is(self.rows[0], role),
        )

    def _find_fields(self) -> None:
        if not self.rows or self.role == "traces":
            return
        where = self.names
        if self.role in ("judgments", "run"):
            self.fields = list(_fields_of_table(self.rows, where))
            return
        wanted = [role for role in _ROLES if role not in ("doc", "score", "rank", "grade")]
        if self.role in ("corpus", "questions"):
            wanted = ["query", "text"]
        for role in wanted:
            known: Sequence[str] = names.ROLES[role]
            if role == "expected" and where.by_text:
                known = names.EXPECTED_TEXTS
            if self.role == "corpus":
                known = (*names.DOCS_INSIDE,) if role == "query" else names.TEXTS_INSIDE
            taken = {field.name for field in self.fields}
            name, value = _found(self.rows, where, role, known, taken)
            if name:
                shown = "doc" if self.role == "corpus" and role == "query" else role
                self.fields.append(Field(shown, name, _shown(value)))
                first = value[0] if isinstance(value, list) and value else None
                if role in ("expected", "retrieved") and isinstance(first, Mapping):
                    self._find_inside(name, first, role)

    def _find_inside(self, outer: str, item: Mapping[str, object], role: str) -> None:
        for inner in ("doc", "score" if role == "retrieved" else "grade"):
            known = names.DOCS_INSIDE if inner == "doc" else names.ROLES[inner]
            name, value = _found([dict(item)], self.names, inner, known, set())
            if name:
                self.fields.append(Field(inner, f"{outer}[].{name}", _shown(value)))


def _holds_passages(columns: Collection[str]) -> bool:
    """Whether passages are expected; a log that calls what was retrieved so has other names of a log as well."""
    others = {*names.RETRIEVED, *names.STEPS, *names.SECONDS, *names.MILLISECONDS} - {"passages"}
    return not set(columns).isdisjoint(names.PASSAGES) and others.isdisjoint(columns)


def _role_of_documents(in_short: set[str]) -> Role:
    """What a table with a row for each document holds."""
    if not in_short.isdisjoint((*names.SCORES, *names.RANKS)) and in_short.isdisjoint(names.GRADES):
        return "run"
    if not in_short.isdisjoint((*names.QUERY_COLUMNS, "question")):
        return "judgments"
    return "unknown" if in_short.isdisjoint((*names.TEXTS_INSIDE, "title")) else "corpus"


def _start(text: str) -> str:
    return text if len(text) <= _ROW else f"{text[: _ROW - 1]}…"


def _encoding(path: str) -> str:
    if not Path(path).is_file():
        return ""
    with Path(path).open("rb") as file:
        start = file.read(64)
    wide = wide_encoding(start)
    if wide:
        return wide.upper()
    if start.startswith(b"PAR1") or not start:
        return ""
    packed = next((packing for magic, packing in MAGIC.items() if start.startswith(magic)), "")
    return f"{packed}, UTF-8" if packed else "UTF-8 with a mark" if start.startswith(BOM) else "UTF-8"


def _content(place: Any, kind: str, where: Names) -> Any:
    """The first rows, or the whole of a JSON document that is no list of rows."""
    if kind == "json":
        return _some(records.unwrapped(json_document(place), where, any_rows=True))
    if kind == "jsonl" and isinstance(place, Source):
        return _some(records.unwrapped(json_lines(place), where, any_rows=True))
    read = formats.stream_table(place, kind)
    if isinstance(read, Mapping):
        return read
    return next(iter(read)).head(_LOOKED_AT).to_dicts()


def _some(content: object) -> object:
    return content[:_LOOKED_AT] if isinstance(content, list) else content


def _fields_of_table(rows: Sequence[dict[str, object]], where: Names) -> Iterator[Field]:
    table = frame_of_rows(rows[:_LOOKED_AT])
    columns = {"query": frames.query_column(table), "doc": frames.doc_column(table)}
    for role in ("query", "doc", "score", "rank", "grade", "text"):
        own = next((place for place in where.own.get(role, ()) if place in table.columns), None)
        usual = columns.get(role) or next(
            (name for name in table.columns if plain(name) in names.ROLES[role] and role not in columns), None
        )
        name = own or usual
        if name is not None and name not in ({*columns.values()} if role not in columns else ()):
            yield Field(role, name, _shown(table[name][0]))


def _found(
    rows: Sequence[dict[str, object]], where: Names, role: str, known: Sequence[str], taken: set[str]
) -> tuple[str, object]:
    """The field that says something for a role in one of the rows, and what it says."""
    for row in rows:
        for place in where.own.get(role, ()):
            if follow(row, place) is not None:
                return place, follow(row, place)
        if role in where.own and role not in where.optional:
            continue
        left = {key: value for key, value in row.items() if key not in taken}
        value = given(left, known)
        if value is not None:
            name = next(
                name
                for usual in known
                for name, one in left.items()
                if plain(str(name)) == usual and one is not None
            )
            return str(name), value
    return "", None


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _size_of(run: Run) -> str:
    if run.log is not None:
        failed = f", {len(run.log.failed):,} failed" if run.log.failed else ""
        return f"{counted(len(run.log.entries), 'question')}{failed}"
    if run.by_query is not None:
        return counted(len(run.by_query), "query", "queries")
    queries: set[str] = set()
    rows = 0
    for table in run.tables:
        queries.update(table["query"].unique().to_list())
        rows += len(table)
    return f"{counted(len(queries), 'query', 'queries')}, {counted(rows, 'row')}"
