"""Queries that belong together: which cluster each is in, and whether ids or texts suggest clusters that were not declared."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ranklens.comparison.slices import NONE, slices_of
from ranklens.stats import Clusters, effective_queries, intraclass_correlation
from ranklens.words import counted

if TYPE_CHECKING:
    from ranklens.comparison.contrasts import Contrasts

# q12-a, 12_1, q12.b, t7/3: a stem with a digit and, after a separator, a letter or a number; or 12a, 12b.
_VARIANT = re.compile(r"(?P<stem>.*\d.*?)(?:[-_.:/#](?:[a-zA-Z]|[vp]?\d{1,2})|(?<=\d)[a-z])")
# English words that paraphrases add, drop and exchange.
_FILLERS = re.compile(
    r"a|about|an|and|any|are|as|at|be|by|can|could|did|do|does|for|from|had|has|have|how|i|if|in|into|is|it|its|list|me|my|of|on|or|our|"
    r"please|should|show|some|tell|than|that|the|their|them|there|these|this|those|to|us|was|we|were|what|when|where|which|who|whom|whose|"
    r"why|will|with|would|you|your"
)
_FEWEST, _LARGEST = 3, 20  # clusters, and queries in each on average: fewer or larger ones are slices


def clusters_of(given: object, queries: object, ids: Sequence[str]) -> dict[str, str]:
    """The cluster of each query: from ``{query: cluster}``, or from the column ``given`` of ``queries``.

    A query without a value is a cluster of its own.

    >>> clusters_of({"q1": "a", "q2": "a"}, None, ["q1", "q2", "q3"])
    {'q1': 'a', 'q2': 'a', 'q3': '(q3 alone)'}
    """
    named = slices_of(given, queries, ids, what="clusters")
    return {query: f"({query} alone)" if name == NONE else name for query, name in named.items()}


def suggested(ids: Sequence[str], texts: Mapping[str, str]) -> tuple[int, str, str] | None:
    """How many clusters the ids or texts of queries suggest, and two queries of one; None if they suggest none.

    >>> suggested(["q1-a", "q1-b", "q2-a", "q2-b", "q3-a", "q3-b"], {})
    (3, 'q1-a', 'q1-b')
    >>> suggested(["q-1", "q-2", "q-3", "q-4"], {}) is None
    True

    Texts suggest a cluster if they have the same words, in any order and but for words such as "how" and "the".
    """
    stems = [match["stem"] if (match := _VARIANT.fullmatch(query)) else query for query in ids]
    return _clustered(ids, stems) or _clustered(ids, [_topic(texts.get(query, "")) or query for query in ids])


def _topic(text: str) -> str:
    """The words that carry the meaning of a text; all of them if none does.

    >>> _topic("How do I reset my password?") == _topic("password reset") == "password reset"
    True
    """
    words = {*re.findall(r"\w+", text.lower())}
    return " ".join(sorted(word for word in words if not _FILLERS.fullmatch(word)) or sorted(words))


def _clustered(ids: Sequence[str], labels: Sequence[str]) -> tuple[int, str, str] | None:
    """Whether half of the queries or more share a label with a few others."""
    sizes = Counter(labels)
    several = {label: size for label, size in sizes.items() if size > 1}
    covered = sum(several.values())
    if len(several) < _FEWEST or 2 * covered < len(ids) or covered > _LARGEST * len(several):
        return None
    label = next(iter(several))
    first, second, *_ = (query for query, own in zip(ids, labels, strict=True) if own == label)
    return len(sizes), first, second


def described(tested: Sequence[Contrasts]) -> str:
    """How many independent queries the clustered ones are worth, over all pairs of all measures: the fewest."""
    parts = [part for part in tested if part.clusters is not None and part.part is None]
    clusters = parts[0].clusters if parts else None
    if clusters is None:
        return ""
    size = f"{counted(clusters.n, 'query')} in {counted(len(clusters), 'cluster')}"
    changes = [change for part in parts for change in part.some_changes()]
    worths = [(effective_queries(one, clusters), intraclass_correlation(one, clusters)) for one in changes]
    defined = [(worth, correlation) for worth, correlation in worths if not math.isnan(correlation)]
    if not defined:
        return f"{size}; intervals and tests are by cluster."
    worth, correlation = min(defined)
    return (
        f"{size} say as much about differences as {'about ' if worth < clusters.n else ''}{worth:,.0f} independent queries "
        f"(intra-class correlation {max(correlation, 0):.2f}); intervals and tests are by cluster."
    )


def by_label(labels: Mapping[str, str], ids: Sequence[str]) -> Clusters:
    """The clusters of some queries, in their order."""
    return Clusters.of([labels[query] for query in ids])
