"""What a corpus says about failing questions: which expected documents it has, what they say, and what they are chunks of."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ranklens.data.files.corpus import roles
from ranklens.data.files.rows import each_row
from ranklens.data.matching.rules import ByParent, Groups, Matching
from ranklens.data.matching.spans import Spans
from ranklens.data.matching.texts import contains, runs, runs_held, tokens
from ranklens.data.readers.names import given, plain
from ranklens.data.readers.paths import follow
from ranklens.errors import InputError

# The share of an expected text's words that another text holds, in runs of three, to count as a copy of it.
COPY = 0.8
_PART = 0.5  # and to be a chunk that the expected text was divided into
_PARENTS = (
    *("parent_id", "parent", "parent_doc_id", "parent_document_id", "source_id", "source", "doc_id", "docid"),
    *("document_id", "file_name", "filename", "file", "path", "url"),
)
_CHUNK = re.compile(
    r"(?P<parent>.+?)(?:#[^#]*|::[^:]*|[-_/.:|](?:chunk|passage|part|page|para|section|split|node|c|p)[-_]?\d+)",
    re.IGNORECASE,
)


def share_held(text: str, expected: str) -> float:
    """The share of the words of an expected text that another text holds, in runs of at least three words; shorter ones as a whole.

    >>> share_held("In short: refunds take 5 to 7 working days.", "Refunds take 5 to 7 days"), share_held("30 days", "30 days")
    (0.8333333333333334, 1.0)
    """
    places, size = runs_held(text, expected)
    if size < 3:
        return contains(text, expected) if size else 0.0
    return places.bit_count() / size


def parent_in(doc: str) -> str | None:
    """What an id says that it is a chunk of; None if it does not say.

    >>> [parent_in(doc) for doc in ("billing#4", "a.pdf::12", "guide_chunk_7", "FT911-3", "msmarco_passage_01_2")]
    ['billing', 'a.pdf', 'guide', None, None]
    """
    found = _CHUNK.fullmatch(doc)
    return None if found is None else found["parent"]


@dataclass(frozen=True)
class Library:
    """Texts and parents of documents; made by :meth:`of`. Without a corpus, only ids say which document a chunk is from."""

    is_given: bool = False
    texts: dict[str, str] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)
    holders: Mapping[str, Collection[str]] = field(
        default_factory=dict
    )  # by expected text, the chunks with it
    present: Collection[str] = ()  # the expected documents or texts that the corpus has
    rule: ByParent | None = None

    @classmethod
    def of(
        cls,
        corpus: object,
        docs: Collection[str],
        expected: Collection[str],
        *,
        match: Matching | None,
        rule: ByParent | None = None,
    ) -> Library:
        """Read in one pass; ``docs`` are those to know about, ``expected`` what questions need, under the names that ``match`` gives them."""
        if corpus is None:
            return cls(rule=rule)
        are_texts = match is not None and match.expects_texts
        texts: dict[str, str] = {}
        parents: dict[str, str] = {}
        holders: dict[str, list[str]] = {}
        covered: dict[str, int] = {}
        index = _Passages.of(expected) if are_texts else None
        known: dict[tuple[str, ...], tuple[str, str | None, str]] = {}  # decided once for each set of names
        wanted, number = {*docs, *(() if are_texts else expected)}, 0
        for number, row in enumerate(each_row(corpus, "corpus"), 1):  # noqa: B007
            fields = tuple(row)
            if fields not in known:
                known[fields] = roles(fields, "corpus")
            key, title, body = known[fields]
            name, text = _name(row, key, match), " ".join(str(row[one] or "") for one in (title, body) if one)
            if name in wanted:
                texts[name] = f"{texts[name]} {text}" if name in texts else text
                parent = _parent(row, key)
                if parent is not None:
                    parents[name] = parent
            for passage, places in index.held(text) if index is not None else ():
                covered[passage] = covered.get(passage, 0) | places
                if places.bit_count() >= _PART * len(tokens(passage)):
                    holders.setdefault(passage, []).append(name)
                    parents |= {name: parent} if (parent := _parent(row, key)) is not None else {}
        if not number:
            raise InputError("corpus: it has no documents, so nothing can be looked up in it.")
        if isinstance(match, Spans) or (isinstance(match, Groups) and isinstance(match.groups, Mapping)):
            present = [*expected]  # a row does not say which of them it is
        elif are_texts:
            present = [
                one for one, places in covered.items() if places.bit_count() >= COPY * len(tokens(one))
            ]
        else:
            present = [one for one in expected if one in texts]
        return cls(True, texts, parents, holders, frozenset(present), rule)

    def parents_of(self, docs: Sequence[str]) -> set[str]:
        """The documents that these are chunks of, as far as that is known; of an expected text, those of the chunks with it."""
        chunks = [chunk for doc in docs for chunk in self.holders.get(doc, (doc,))]
        return {parent for chunk in chunks if (parent := self._parent_of(chunk)) is not None}

    def _parent_of(self, doc: str) -> str | None:
        if self.rule is not None:
            return self.rule.judged_ids("", [doc], {})[0]
        return self.parents.get(doc) or parent_in(doc)


def _name(row: Mapping[str, object], key: str, match: Matching | None) -> str:
    """The judged id of a row: a chunk may stand for its parent, or a document for its group."""
    own = str(row[key])
    if match is None or match.expects_texts:
        return own
    place = match.id_from
    found = follow(row, place) if isinstance(place, str) else None
    return match.judged_ids("", [own if found is None else str(found)], {})[0]


@dataclass(frozen=True)
class _Passages:
    """Expected texts by their runs of three words, to find those that a chunk holds in one walk over it."""

    places: Mapping[tuple[str, ...], Sequence[tuple[str, int]]]
    short: Sequence[str]  # without such a run

    @classmethod
    def of(cls, expected: Collection[str]) -> _Passages:
        places: dict[tuple[str, ...], list[tuple[str, int]]] = {}
        for passage in expected:
            words = tokens(passage)
            for place in range(len(words) - 2):
                places.setdefault(words[place : place + 3], []).append((passage, place))
        return cls(places, [passage for passage in expected if 0 < len(tokens(passage)) < 3])

    def held(self, text: str) -> Iterator[tuple[str, int]]:
        """The expected texts of which a chunk holds a part, with their words that it holds, as bits."""
        bits: dict[str, int] = {}
        for run in runs(text):
            for passage, place in self.places.get(run, ()):
                bits[passage] = bits.get(passage, 0) | 0b111 << place
        yield from bits.items()
        for passage in self.short:
            if contains(text, passage):
                yield passage, (1 << len(tokens(passage))) - 1


def _parent(row: Mapping[str, object], key: str) -> str | None:
    """The field of a row that says which document it is a chunk of."""
    others = {name: value for name, value in row.items() if name != key}
    inside = others.get("metadata")
    for place in (others, inside if isinstance(inside, Mapping) else {}):
        value = given({plain(str(name)): one for name, one in place.items()}, _PARENTS)
        if value is not None:
            return str(value)
    return None
