"""The names under which people keep queries, documents and numbers: one list, used by every reader.

A *role* is what a field means (``doc``, ``score``, ``expected`` …). Names are compared without case and with ``-``, spaces and
camel case as ``_``, so ``chunkId`` and ``Chunk-ID`` are ``chunk_id``. ``columns=`` gives a role a name of the user's own, which
may be a path into nested fields: ``{"expected": "gold.ids"}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from ranklens.data.readers.paths import follow
from ranklens.errors import InputError, nearest

# "query" is an id in tables of documents, and a text in records that have another id.
SAY_ID = ("query_id", "queryid", "qid", "q_id", "question_id")
_OTHER_IDS = (
    "topic_id",
    "topic",
    "user",
    "user_id",
    "session_id",
    "example_id",
    "sample_id",
    "case_id",
    "test_id",
)
QUERY_IDS = (*SAY_ID, "_id", "id", *_OTHER_IDS)
# In a table of documents "id" may be either's, so it does not name a query there. "query" is a text beside a column that says "id",
# and an id beside any other.
QUERY_COLUMNS = (*SAY_ID, "query", *_OTHER_IDS)
QUERY_TEXTS = ("question", "query_text", "user_input", "input", "query", "text", "prompt", "title")
DOCS = (  # "doc" and "document" are texts beside a column that says "id"; PyTerrier's docid is a number of its own beside docno
    "doc_id", "docno", "docid", "doc", "did", "document_id", "document", "corpus_id", "pid", "passage_id", "item", "item_id",
    "product_id", "chunk_id", "node_id", "uuid",
)  # fmt: skip
DOCS_INSIDE = ("id", "_id", "id_", *DOCS)  # of an entry in a list of documents
TEXTS_INSIDE = ("text", "content", "page_content", "chunk", "passage", "body")
SCORES = ("score", "sim", "similarity", "prediction", "relevance_score", "_score")
RANKS = ("rank", "position")
GRADES = ("grade", "relevance", "rel", "label", "rating", "gain", "judgment", "judgement", "expect_score")
SUBTOPICS = ("subtopic", "subtopic_id", "intent", "intent_id", "aspect", "facet")
EVIDENCE = ("evidence", "evidence_set", "evidence_id")
JUNK = ("junk", "is_junk")
ASSESSORS = ("assessor", "assessor_id", "annotator", "annotator_id", "judge", "rater", "worker", "user_email")
RETRIEVED = (
    "retrieved", "actual_ranking", "retrieved_context_ids", "retrieved_ids", "retrieved_chunk_ids", "retrieved_doc_ids",
    "retrieved_docs", "retrieved_documents", "retrieved_chunks", "results", "ranking", "actual_reference", "retrieved_contexts",
    "hits", "matches", "search_results", "context_ids", "contexts", "source_documents", "source_nodes", "nodes", "documents",
    "passages", "chunks", "predictions", "recommendations",
)  # fmt: skip
EXPECTED = (
    "relevant", "expected", "expected_reference", "expected_ranking", "reference_context_ids", "expected_ids",
    "expected_chunk_ids", "expected_doc_ids", "expected_docs", "expected_documents", "relevant_docs", "relevant_ids",
    "relevant_doc_ids", "relevant_chunk_ids", "relevant_chunks", "gold", "gold_ids", "gold_chunk_ids", "gold_doc_ids",
    "ground_truth_ids", "positives",
)  # fmt: skip
EXPECTED_TEXTS = (
    "expected_texts", "expected_text", "expected_passages", "expected_answers", "expected_answer", "answers", "answer",
    "reference_contexts", "expected_chunks",
)  # fmt: skip
PASSAGES = (
    "passages", "gold_passages", "reference_passages", "evidence_passages", "references", "gold_spans", "reference_spans",
)  # fmt: skip
STEPS = ("steps", "retrievals", "trajectory")
GRADES_APART = ("relevance_scores", "relevance", "grades")
ANSWERABLE = ("answerable", "is_answerable", "has_answer")
ERRORS = ("error", "exception", "error_message")
STATUSES = ("status", "state")
SECONDS = ("seconds", "latency_s", "latency_seconds", "duration_s", "latency", "duration", "elapsed")
MILLISECONDS = ("latency_ms", "duration_ms", "elapsed_ms", "took_ms", "took")
COSTS = ("cost", "cost_usd", "usd", "price")
TOKENS = ("tokens", "total_tokens", "token_count", "n_tokens")

ROLES: Mapping[str, Sequence[str]] = {
    "query": QUERY_IDS,
    "text": QUERY_TEXTS,
    "doc": DOCS,
    "score": SCORES,
    "rank": RANKS,
    "grade": GRADES,
    "expected": EXPECTED,
    "passages": PASSAGES,
    "retrieved": RETRIEVED,
    "steps": STEPS,
    "answerable": ANSWERABLE,
    "error": ERRORS,
}
SHARED = frozenset({"query", "text", "doc"})  # roles that judgments and runs both have
GOLDEN, RUN = (
    ("golden", "qrels"),
    ("run", "log"),
)  # what the inputs are called where names belong to one of them
_OTHER_WORDS = {"relevant": "expected", "question": "text", "results": "retrieved", "id": "query"}

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """A name without case and with one way to part words.

    >>> plain("chunkId"), plain("query-id "), plain("QID")
    ('chunk_id', 'query_id', 'qid')
    """
    return _HUMP.sub("_", name.strip()).lower().replace("-", "_").replace(" ", "_")


def given(row: Mapping[str, object], names: Iterable[str]) -> Any:
    """The value of the first of these names that holds one; None if none does.

    >>> given({"queryId": 7, "id": None}, QUERY_IDS)
    7
    """
    for name in names:  # nearly always as written
        if row.get(name) is not None:
            return row[name]
    by_plain = {plain(key): value for key, value in row.items() if isinstance(key, str) and value is not None}
    return next((by_plain[name] for name in names if name in by_plain), None)


@dataclass(frozen=True)
class Names:
    """Where things are in the rows of one input: as the user said, else under a known name.

    >>> Names.of({"expected": "gold.ids"}).find({"gold": {"ids": ["d1"]}}, "expected")
    ['d1']
    """

    own: Mapping[str, Sequence[str]] = field(default_factory=dict)
    id_from: Any = None  # where a matching finds the id of a retrieved item
    by_text: bool = False  # what is expected are texts, not ids
    with_chunks: bool = False  # retrieved items are kept with their texts and spans
    option: str = "columns"  # what messages tell the user to set where an id is not found
    # The user's names may be those of one input only: which roles have their usual names where a row lacks the user's, and which were met.
    optional: frozenset[str] = frozenset()
    met: set[str] = field(default_factory=set, compare=False)
    by_input: Mapping[str, Mapping[str, Sequence[str]]] = field(
        default_factory=dict
    )  # names of single inputs alone
    strict: frozenset[str] = frozenset()  # roles that the user named for this very input

    @classmethod
    def of(cls, columns: Mapping[str, str | Sequence[str]] | None, match: Any = None) -> Names:
        """From ``columns=`` (a name or path for each role, or several of which the first that is there counts) and ``match=``.

        A role may belong to one input alone: ``golden:query`` to the judgments, ``a:doc`` to the run or the file called ``a``.

        >>> Names.of({"golden:query": "id", "doc": "chunk"}).for_input("golden").own
        {'doc': ['chunk'], 'query': ['id']}
        """
        if not columns and match is None:
            return USUAL
        own: dict[str, Sequence[str]] = {}
        by_input: dict[str, dict[str, Sequence[str]]] = {}
        for text, place in (columns or {}).items():
            name, _, word = str(text).rpartition(":")
            role = _OTHER_WORDS.get(word, word)
            if role not in ROLES:
                raise InputError(f"columns: there is no {word!r}: {nearest(word, ROLES)}")
            (by_input.setdefault(name, {}) if name else own)[role] = (
                [place] if isinstance(place, str) else list(place)
            )
        reads_chunks = getattr(match, "reads_chunks", False)
        id_from = None if reads_chunks else getattr(match, "id_from", None)
        return cls(own, id_from, getattr(match, "expects_texts", False), reads_chunks, by_input=by_input)

    @property
    def columns(self) -> Mapping[str, Sequence[str]] | None:
        """The user's own names, as tables take them."""
        return self.own or None

    def for_input(self, *called: str) -> Names:
        """For one input, which goes by any of these names."""
        if not self.by_input:
            return self
        mine = {role: places for name in called for role, places in self.by_input.get(name, {}).items()}
        return replace(self, own={**self.own, **mine}, by_input={}, strict=frozenset(mine))

    def refuse_unknown(self, called: Iterable[str]) -> None:
        """Refuse names of inputs that do not exist; the judgments and the runs in general always do."""
        inputs = list(dict.fromkeys([*GOLDEN, *RUN, *called]))
        wrong = next((name for name in self.by_input if name not in inputs), None)
        if wrong is not None:
            role = next(iter(self.by_input[wrong]))
            raise InputError(f"{wrong}:{role}: no input is called {wrong!r}: {nearest(wrong, inputs)}")

    def for_golden(self) -> Names:
        """For judgments, which are read first: what both inputs have may be called so in the run alone."""
        return replace(self, optional=SHARED - self.strict)

    def for_log(self) -> Names:
        """For a run: what the judgments called so may have its usual name."""
        return replace(self, optional=(SHARED & self.met) - self.strict)

    def find(self, row: Any, role: str, known: Sequence[str] | None = None) -> Any:
        """What a row says for a role, under the user's name for it, else under one of ``known``."""
        if role in self.own:
            value = next((v for place in self.own[role] if (v := follow(row, place)) is not None), None)
            if value is not None:
                self.met.add(role)
            keys = {*self.own[role], *(place.partition(".")[0] for place in self.own[role])}
            has_own = isinstance(row, Mapping) and not keys.isdisjoint(row)
            if value is not None or role not in self.optional or has_own:
                return value
        return given(row, ROLES[role] if known is None else known) if isinstance(row, Mapping) else None


USUAL = Names()  # nothing is called otherwise
