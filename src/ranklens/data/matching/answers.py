"""Judgments from texts: a passage is relevant if it contains an answer, as in open-domain question answering (DPR)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from itertools import groupby
from typing import Any, Literal

from ranklens.data.readers.mappings import Id
from ranklens.errors import InputError, nearest

Match = Literal["tokens", "regex"]


def answers(
    corpus: Mapping[Id, str],
    answers: Mapping[Id, Any],
    match: Match = "tokens",
    *,
    run: Mapping[Id, Iterable[Id]] | None = None,
) -> dict[Id, dict[Id, int]]:
    """Judgments ``{query: {document: 1 or 0}}``: whether the text of a document contains an answer to the query.

    ``corpus`` is ``{document: text}``, ``answers`` ``{query: [answers]}``. ``match="tokens"`` finds an answer as a sequence of
    tokens, without case, as DPR does; ``"regex"`` takes answers as regular expressions. With ``run``, only retrieved documents are
    looked at, which is what a large corpus needs; judgments then say nothing about the others.

    >>> answers({"d1": "It was Ada Lovelace.", "d2": "Lovelaces"}, {"q": ["ada  lovelace"]})
    {'q': {'d1': 1, 'd2': 0}}
    """
    if match not in ("tokens", "regex"):
        raise InputError(f"match={match!r} is not allowed: {nearest(str(match), ('tokens', 'regex'))}")

    @cache
    def seen(doc: Id) -> str:
        if doc not in corpus:
            raise InputError(f"corpus: document {doc!r} was retrieved, but its text is not there.")
        return _tokens(corpus[doc]) if match == "tokens" else unicodedata.normalize("NFD", corpus[doc])

    judgments: dict[Id, dict[Id, int]] = {}
    for query, expected in answers.items():
        contains = _finder([expected] if isinstance(expected, str) else list(expected), match, query)
        documents = corpus if run is None else run.get(query, ())
        judgments[query] = {doc: int(contains(seen(doc))) for doc in documents}
    return judgments


def _finder(expected: list[str], match: Match, query: object) -> Callable[[str], bool]:
    """A function that says whether a text contains one of the answers."""
    if match == "tokens":
        wanted = [tokens for tokens in map(_tokens, expected) if tokens.strip()]
        return lambda text: any(tokens in text for tokens in wanted)
    try:
        flags = re.IGNORECASE | re.UNICODE | re.MULTILINE
        patterns = [re.compile(unicodedata.normalize("NFD", one), flags) for one in expected]
    except re.error as error:
        raise InputError(
            f"answers: query {query!r}: {error.pattern!r:.60} is not a regular expression: {error}."
        ) from None
    return lambda text: any(pattern.search(text) for pattern in patterns)


def _tokens(text: str) -> str:
    """The tokens in lower case with a space around each, so that a sequence of tokens is a part of the text.

    >>> _tokens("It's Ada.")
    " it ' s ada . "
    """
    letters = groupby(unicodedata.normalize("NFD", text), key=_kind)
    words = []
    for kind, group in letters:
        if kind == "word":
            words.append("".join(group).lower())
        elif kind == "sign":
            words.extend(group)
    return f" {' '.join(words)} "


@lru_cache(maxsize=4096)
def _kind(letter: str) -> str:
    """Letters, numbers and marks make words; other signs stand alone; spaces and control characters part them."""
    category = unicodedata.category(letter)[0]
    return "word" if category in "LNM" else "space" if category in "ZC" else "sign"
