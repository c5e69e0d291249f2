"""Random judgments and rankings: ties inside and across cutoffs, odd ids, pooled-but-unjudged, empty and missing queries."""

from hypothesis import settings
from hypothesis import strategies as st

DOCS = ["a", "b", "B", "10", "9", "é", "Ω", "d#1", "x,y", "it's", "\U0001f600", "z" * 40]
QUERIES = ["q1", "q10", "Q-Ω", "2", "a b"]
SCORES = st.sampled_from([0.0, 0.5, 1.0, 1.5, -2.25, 3.0, 100.0])  # exact in 32 bits, and few enough to tie

whole_grades = st.integers(-1, 4)
any_grades = st.one_of(whole_grades, st.sampled_from([0.5, 1.5, 2.5]))


def judgments(grades=whole_grades, min_size=0):
    docs = st.dictionaries(st.sampled_from(DOCS), grades, min_size=min_size)
    return st.dictionaries(st.sampled_from(QUERIES), docs, min_size=1)


def runs(scores=SCORES, max_size=None, min_docs=0):
    docs = st.dictionaries(st.sampled_from(DOCS), scores, max_size=max_size, min_size=min_docs)
    return st.dictionaries(st.sampled_from(QUERIES), docs)


def rankings():
    """Runs without ties, as ordered lists."""
    return st.dictionaries(st.sampled_from(QUERIES), st.lists(st.sampled_from(DOCS), unique=True))


def examples(full):
    """The number of examples for a test that needs more or fewer than others: ``full`` in a full run, a share of it in a quick one."""
    return max(1, full * settings.default.max_examples // 100)
