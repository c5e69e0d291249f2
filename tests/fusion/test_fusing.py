"""Policies, engines and bad input of fusion; values worked out by hand."""

import itertools
import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ranklens as rl
from ranklens.fusion import METHODS, NORMS, TRAINED, Fitted, fusing

A = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"a": 1.0}}
B = {"q1": {"b": 0.9, "d": 0.5}, "q3": {"x": 0.1}}

RUNS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(-3, 3).map(float), min_size=1, max_size=6),
    min_size=1,
    max_size=3,
)


def table(run):
    rows = [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]
    return pl.DataFrame(rows, schema=["query", "doc", "score"], orient="row")


def as_dict(frame):
    fused = {}
    for query, doc, score in frame.iter_rows():
        fused.setdefault(query, {})[doc] = score
    return fused


def quietly(function, *arguments, **options):
    with pytest.warns(rl.RankLensWarning) as heard:
        result = function(*arguments, **options)
    return result, [str(one.message) for one in heard]


def ranks(docs):
    """By brute force: score descending, then id descending."""
    ordered = sorted(docs, key=lambda doc: (docs[doc], doc), reverse=True)
    return {doc: rank for rank, doc in enumerate(ordered, 1)}


@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
@given(RUNS, RUNS, st.floats(1, 100))
def test_rrf_is_its_formula(a, b, k):
    fused = rl.fuse([a, b], "rrf", k=k)
    for query in {*a, *b}:
        placed = [ranks(run.get(query, {})) for run in (a, b)]
        for doc in {*placed[0], *placed[1]}:
            expected = sum(1 / (k + places[doc]) for places in placed if doc in places)
            assert math.isclose(fused[query][doc], expected)


@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
@given(RUNS, RUNS, st.sampled_from(sorted(METHODS)), st.sampled_from(["", *NORMS]))
def test_tables_and_dicts_are_fused_alike(a, b, method, norm):
    options = {"weights": [0.6, 0.4]} if METHODS[method].is_weighted else {}
    from_dicts = rl.fuse({"a": a, "b": b}, method, norm or None, **options)
    from_tables = as_dict(rl.fuse({"a": table(a), "b": table(b)}, method, norm or None, **options))
    assert list(from_tables) == list(from_dicts)
    for query, docs in from_tables.items():
        assert docs == pytest.approx(
            from_dicts[query], abs=1e-12
        )  # sums of z-scores differ in their last digits
        in_order = [(score, doc) for doc, score in docs.items()]
        assert in_order == sorted(in_order, reverse=True)


def test_large_runs_are_fused_a_share_of_the_queries_at_a_time(monkeypatch):
    a = {f"q{i}": {f"d{j}": float(j) for j in range(5)} for i in range(200)}
    b = {f"q{i}": {f"d{j}": float(-j) for j in range(3, 8)} for i in range(200)}
    expected = rl.fuse([a, b])
    monkeypatch.setattr(fusing, "_IN_MEMORY", 1_000)
    assert as_dict(rl.fuse([table(a), table(b)])) == expected


def test_queries_that_a_run_lacks():
    fused, warned = quietly(rl.fuse, {"a": A, "b": B})
    assert {query: list(docs) for query, docs in fused.items()} == {
        "q1": ["b", "a", "d", "c"],
        "q2": ["a"],
        "q3": ["x"],
    }
    assert warned == [
        "Not every run has every query: a lacks 1 and b lacks 1 of 3. These queries are fused from the other runs."
    ]
    common, warned = quietly(rl.fuse, {"a": A, "b": B}, queries="common")
    assert list(common) == ["q1"]
    assert "left out" in warned[0]
    with pytest.raises(rl.InputError, match="the run 'b' has no documents for query 'q2'"):
        rl.fuse({"a": A, "b": B}, queries="error")


def test_documents_that_a_run_lacks():
    a, b = {"q": A["q1"]}, {"q": B["q1"]}
    nothing = rl.fuse([a, b], "sum")["q"]
    lowest = rl.fuse([a, b], "sum", missing="lowest")["q"]
    assert nothing == {"a": 3.0, "b": 2.9, "c": 1.0, "d": 0.5}
    assert lowest == {"a": 3.5, "b": 2.9, "c": 1.5, "d": 1.5}
    assert rl.fuse([a, b], missing="lowest")["q"]["a"] == 1 / 61 + 1 / 63  # the rank after b's last


def test_window_and_depth():
    a, b = {"q": A["q1"]}, {"q": B["q1"]}
    assert rl.fuse([a, b], window=1)["q"] == {"b": 1 / 61, "a": 1 / 61}
    assert list(rl.fuse([a, b], depth=2)["q"]) == ["b", "a"]


def test_bounded_scores():
    fused = rl.fuse(
        {"a": {"q": {"x": 0.0}}, "b": {"q": {"x": 3.0}}},
        "sum",
        "theoretical",
        bounds={"a": (-1, 1), "b": (0, 4)},
    )
    assert fused == {"q": {"x": 1.25}}
    with pytest.raises(
        rl.InputError, match=r"the score 3 of document 'x' for query 'q' is outside the bounds \[-1, 1\]"
    ):
        rl.fuse([{"q": {"x": 0.0}}, {"q": {"x": 3.0}}], "sum", "theoretical", bounds=(-1, 1))


def test_scores_of_different_scales_are_reported():
    _, warned = quietly(rl.fuse, {"bm25": {"q": {"x": 30.0}}, "dense": {"q": {"x": 0.3}}}, "sum")
    assert warned == [
        "The scores of bm25 go up to 30, those of dense to 0.3, and sum adds them as they are. norm='min-max' puts them on one scale."
    ]


def test_condorcet_follows_majorities():
    """Two of three runs prefer x to y, y to z and x to z."""
    runs = [{"q": list(order)} for order in ("xyz", "xzy", "yxz")]
    assert list(rl.fuse(runs, "condorcet")["q"]) == ["x", "y", "z"]
    assert list(rl.fuse(runs, "condorcet", weights=[0.2, 0.2, 0.6])["q"]) == ["y", "x", "z"]


def test_condorcet_without_a_winner_depends_on_no_order_of_the_runs():
    """x beats y, y beats z and z beats x: Borda's tie is broken by id, so sorting starts at z, y, x."""
    runs = [{"q": list(one)} for one in ("xyz", "yzx", "zxy")]
    assert len({tuple(rl.fuse(order, "condorcet")["q"]) for order in itertools.permutations(runs)}) == 1


def test_distances_are_turned():
    near = {"q": {"a": 0.1, "b": 0.9}}
    assert rl.fuse([near, near], "sum", "min-max-inverted")["q"] == {"a": 2.0, "b": 0.0}


def test_repeated_documents_count_once():
    rows = pl.DataFrame({"query": ["q"] * 3, "doc": ["a", "b", "a"], "score": [1.0, 2.0, 3.0]})
    assert as_dict(rl.fuse([rows, table({"q": {"a": 1.0}})]))["q"] == {"a": 2 / 61, "b": 1 / 62}


@pytest.mark.parametrize("method", TRAINED)
def test_fitted_methods_are_saved_and_loaded(method, tmp_path):
    runs = {"a": {"q1": A["q1"]}, "b": {"q1": B["q1"]}}
    fitted = rl.fit_fusion({"q1": {"b", "c"}}, runs, method)
    fitted.save(tmp_path / "fitted.json")
    assert Fitted.load(tmp_path / "fitted.json") == fitted
    assert rl.fuse(runs, Fitted.load(tmp_path / "fitted.json")) == rl.fuse(runs, fitted)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"method": "rrf"}',
        '{"format": 1, "method": "posfuse", "runs": ["a"], "learnt": [], "params": {}}',
    ],
)
def test_damaged_fitted_files_are_refused(content, tmp_path):
    (tmp_path / "fitted.json").write_text(content)
    with pytest.raises(rl.InputError, match="no fitted fusion method"):
        Fitted.load(tmp_path / "fitted.json")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "rff"}, "there is no fusion method 'rff': did you mean 'rrf'"),
        ({"method": "posfuse"}, "has to be fitted first"),
        ({"norm": "minmx"}, "there is no normalisation 'minmx'"),
        ({"norm": "theoretical"}, "go together"),
        ({"kk": 3}, "rrf has no parameter 'kk'"),
        ({"k": "3"}, "k='3' is not allowed"),
        ({"weights": [1]}, "pass one number from 0 per run"),
        ({"weights": [0, 0]}, "not all 0"),
        ({"weights": {"a": 1, "c": 1}}, "weights name a and c, and the runs are a and b"),
        ({"method": "sum", "weights": [1, 2]}, "sum takes no weights"),
        ({"depth": 0}, "depth=0 is not allowed"),
        ({"missing": "zero"}, "missing='zero' is not allowed"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(rl.InputError, match=message):
        rl.fuse({"a": {"q": ["x"]}, "b": {"q": ["y"]}}, **options)


def test_scores_that_are_no_numbers_are_refused():
    for bad in (math.nan, None, "high"):
        with pytest.raises(rl.InputError, match="the score of document 'x' for query 'q' is not a number"):
            rl.fuse([{"q": {"x": bad}}, {"q": {"y": 1.0}}])


def test_one_run_is_refused():
    with pytest.raises(rl.InputError, match="two or more runs, and there is 1 run"):
        rl.fuse({"a": A})
