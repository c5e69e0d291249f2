"""Texts by id, of queries and of documents, from dicts, tables and files; only the wanted ones are kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import NamedTuple

from ranklens.data.files.rows import each_row
from ranklens.data.readers import frames, names
from ranklens.errors import InputError

# "query" and "document" name the text where another column holds the id, else the id.
ID_NAMES = ("_id", "id", *names.QUERY_IDS, *frames.DOC_NAMES, "query")
TITLE_NAMES = ("title", "headline", "heading")
TEXT_NAMES = (*names.TEXTS_INSIDE, "contents", "query_text", "query", "question", "document", "description")


class Text(NamedTuple):
    """The text of a query or document."""

    title: str
    text: str


def texts(given: object, wanted: Collection[str], what: str = "corpus") -> dict[str, Text]:
    """The texts of the ids in ``wanted``; ids that ``given`` lacks are left out.

    ``given`` is anything that :func:`ranklens.data.files.rows.read_rows` takes: ``{id: text}``, ``{id: {"title": …, "text": …}}``,
    a list of dicts, a table, the path of a file or of a BEIR folder. Fields are recognised by their names.

    >>> texts({"d1": "Lima", "d2": {"title": "Emma", "text": "A novel."}}, ["d2", "d9"])
    {'d2': Text(title='Emma', text='A novel.')}
    """
    if given is None:
        return {}
    is_file = isinstance(given, (str, Path))
    keep = set(wanted)
    if isinstance(given, Mapping):
        given = {str(key): row for key, row in given.items() if str(key) in keep}
        if {*map(type, given.values())} <= {str}:
            return {name: Text("", _printable(text)) for name, text in given.items()}
    by_id: dict[str, Text] = {}
    roles_of: dict[tuple[str, ...], tuple[str, str | None, str]] = {}  # decided once for each set of names
    for row in each_row(given, what):
        fields = tuple(row)
        if fields not in roles_of:
            roles_of[fields] = roles(fields, str(given) if is_file else what)
        key, title, text = roles_of[fields]
        name = str(row[key])
        if name in keep:
            by_id[name] = Text(_printable(row[title]) if title else "", _printable(row[text]))
    if is_file and not roles_of:
        raise InputError(f"{given}: no row has both an id and a text.")
    return by_id


def titles_and_texts(given: object, wanted: Sequence[str]) -> tuple[list[str | None], list[str | None]]:
    """The same as two columns, with None where ``given`` lacks the id; of plain dicts in a tenth of the time.

    >>> titles_and_texts({"d1": "Lima", "d2": {"title": "Emma", "text": "A novel."}}, ["d2", "d9"])
    (['Emma', None], ['A novel.', None])
    """
    if isinstance(given, Mapping) and {*map(type, given)} <= {str}:
        plain_texts = list(map(given.get, wanted))
        if {*map(type, plain_texts)} <= {str, NoneType}:
            return [None if text is None else "" for text in plain_texts], [
                text if text is None or text.isascii() else _printable(text) for text in plain_texts
            ]
    texts_by_id = texts(given, wanted)
    rows = [texts_by_id.get(name, (None, None)) for name in wanted]
    return [title for title, _ in rows], [text for _, text in rows]


def roles(fields: tuple[str, ...], what: str) -> tuple[str, str | None, str]:
    """Which of these fields has the id of a document, its title, if any, and its text."""
    plain = {names.plain(str(field)): field for field in fields}
    key = next((plain[name] for name in ID_NAMES if name in plain), None)
    text = next((plain[name] for name in TEXT_NAMES if name in plain and plain[name] != key), None)
    title = next((plain[name] for name in TITLE_NAMES if name in plain), None)
    if key is None or (text is None and title is None):
        missing = "id" if key is None else "text"
        raise InputError(
            f"{what}: no {missing} among {list(fields)}; call the columns 'id' and 'text' (and 'title')."
        )
    return key, title if text else None, text or str(title)


def _printable(text: object) -> str:
    """Half a surrogate pair cannot be written as UTF-8."""
    text = "" if text is None else str(text)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
