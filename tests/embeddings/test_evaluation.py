"""Embeddings are ranked as :func:`ranklens.evaluate` ranks all their float64 scores: every measure, tie rule and kind of vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from table import NOT

import ranklens as rl
from ranklens.judging.documents import ranking
from ranklens.metrics import parse

MEASURES = list(NOT)
WITH_AVERAGED_TIES = [name for name in MEASURES if parse(name).definition.average_ties]
# Some random judgments have no document in common with the corpus.
pytestmark = [
    pytest.mark.filterwarnings("ignore:None of the retrieved documents is judged"),
    pytest.mark.filterwarnings(r"ignore:[\d,]+ judged documents? (is|are) not among"),
    pytest.mark.filterwarnings(r"ignore:[\d,]+ quer(y has|ies have) no judged document left"),
]
SIMILARITIES = ["dot", "cosine", "euclidean"]


def similarity_by_hand(q, d, similarity):
    q, d = np.asarray(q, float), np.asarray(d, float)
    if similarity == "euclidean":
        return -np.sum((d - q) ** 2)
    found = np.sum(q * d)
    if similarity == "cosine":
        lengths = np.sqrt(np.sum(q * q)) * np.sqrt(np.sum(d * d))
        return found / lengths if lengths else 0.0
    return found


def full_run(queries, documents, similarity, left_out=()):
    return {
        str(i): {
            str(j): float(similarity_by_hand(q, d, similarity))
            for j, d in enumerate(documents)
            if (i, j) not in left_out
        }
        for i, q in enumerate(queries)
    }


@st.composite
def collections(draw):
    """Few dimensions and small whole numbers tie often; others do not; zero vectors and equal documents are common."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    queries, documents, size = draw(st.integers(1, 5)), draw(st.integers(1, 25)), draw(st.integers(1, 5))
    kind = draw(st.sampled_from(["whole", "equal", "close", "any"]))
    q, d = rng.normal(size=(queries, size)), rng.normal(size=(documents, size))
    if kind == "whole":
        q, d = rng.integers(-2, 3, q.shape), rng.integers(-2, 3, d.shape)
    elif kind == "equal":
        d = d[rng.integers(0, documents, documents)]
    elif kind == "close":
        d = d[:1] * (1 + 1e-7 * rng.integers(-3, 4, d.shape))
    if draw(st.booleans()):
        q[0], d[0] = 0, 0
    dtype = draw(st.sampled_from(["float64", "float32", "float16"] + (["int8"] if kind == "whole" else [])))
    judged = {
        str(i): {
            str(j): int(rng.integers(-1, 4))
            for j in rng.choice(
                documents + 3, rng.integers(1, documents + 3), replace=False
            )  # more than there are
        }
        for i in range(queries)
    }
    return q.astype(dtype), d.astype(dtype), judged


@given(collections(), st.sampled_from(SIMILARITIES), st.sampled_from(["descending", "ascending", "input"]))
def test_equal_to_the_full_ranking(collection, similarity, ties):
    q, d, qrels = collection
    expected = rl.evaluate(qrels, full_run(q, d, similarity), MEASURES, ties=ties)
    found = rl.evaluate_embeddings(q, d, qrels, MEASURES, similarity=similarity, ties=ties, batch=7)
    for name in MEASURES:
        np.testing.assert_array_equal(found[name], expected[name], name)
    assert found.judged.applied == expected.judged.applied


@given(collections(), st.sampled_from(SIMILARITIES))
def test_averaged_ties(collection, similarity):
    q, d, qrels = collection
    expected = rl.evaluate(qrels, full_run(q, d, similarity), WITH_AVERAGED_TIES, ties="average")
    found = rl.evaluate_embeddings(q, d, qrels, WITH_AVERAGED_TIES, similarity=similarity, ties="average")
    for name in WITH_AVERAGED_TIES:
        np.testing.assert_array_equal(found[name], expected[name], name)


@given(collections(), st.integers(1, 6), st.sampled_from(SIMILARITIES))
def test_the_best_are_those_of_the_full_ranking(collection, k, similarity):
    q, d, qrels = collection
    found = rl.evaluate_embeddings(q, d, qrels, "RR", similarity=similarity, top=k, batch=4)
    whole = full_run(q, d, similarity)
    table = ranking(qrels, whole, depth=k)
    for query in whole:
        docs = table.filter(table["query"] == query)["doc"].to_list()
        assert found.run[query] == {doc: whole[query][doc] for doc in docs}
        assert list(found.run[query]) == docs


@given(collections(), st.data())
def test_excluded_documents_are_not_in_the_ranking(collection, data):
    q, d, qrels = collection
    pair = st.tuples(st.integers(0, len(q) - 1), st.integers(0, len(d) - 1))
    left_out = data.draw(st.sets(pair))
    expected = rl.evaluate(qrels, full_run(q, d, "dot", left_out), MEASURES)
    found = rl.evaluate_embeddings(q, d, qrels, MEASURES, exclude=list(left_out), top=3)
    for name in MEASURES:
        np.testing.assert_array_equal(found[name], expected[name], name)
    assert not {(int(query), int(doc)) for query, docs in found.run.items() for doc in docs} & left_out


def test_self_is_the_document_with_the_id_of_the_query():
    vectors = np.eye(3)
    scores = rl.evaluate_embeddings(
        vectors, vectors, {"a": {"b"}}, "RR, NumRet", query_ids="abc", doc_ids="abc", exclude="self"
    )
    assert scores.mean == {"RR": 0.5, "NumRet": 2}  # b and c tie; c comes first, as ids descend


def near_ties(rng, queries=40, documents=600, size=64):
    """Documents closer to each other than float32 can tell, half of them there twice."""
    base = rng.normal(size=(1, size))
    d = (base + 1e-7 * rng.integers(-2, 3, (documents, size))).astype(np.float32)
    d[documents // 2 :] = d[: documents - documents // 2]
    return (base + 0.01 * rng.normal(size=(queries, size))).astype(np.float32), d


def test_near_ties_that_plain_products_get_wrong():
    """A rank from float32 scores is wrong for most queries here; bf16 and TF32 are coarser still."""
    q, d = near_ties(np.random.default_rng(0))
    gold = np.random.default_rng(1).integers(0, len(d), len(q))
    qrels = {str(i): {str(g): 1} for i, g in enumerate(gold)}
    expected = rl.evaluate(qrels, full_run(q, d, "dot"), "RR", ties="input")["RR"]
    plain = 1 + ((q @ d.T) > np.einsum("ij,ij->i", q, d[gold])[:, None]).sum(1)
    assert (1 / plain != expected).mean() > 0.5  # the test can fail
    np.testing.assert_array_equal(rl.evaluate_embeddings(q, d, qrels, "RR", ties="input")["RR"], expected)


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e12, 1e30, 1e120])
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_numbers_of_any_size(scale, similarity):
    rng = np.random.default_rng(0)
    q, d = rng.normal(size=(5, 8)) * scale, rng.normal(size=(60, 8)) * scale
    d[30:] = d[:30]
    qrels = {str(i): {str(j): 1 for j in (i, i + 30)} for i in range(5)}
    expected = rl.evaluate(qrels, full_run(q, d, similarity), "AP")["AP"]
    np.testing.assert_array_equal(
        rl.evaluate_embeddings(q, d, qrels, "AP", similarity=similarity)["AP"], expected
    )


def test_many_judged_documents_of_one_query():
    rng = np.random.default_rng(0)
    q, d = rng.normal(size=(3, 6)).astype(np.float32), rng.integers(-1, 2, (500, 6)).astype(np.float32)
    qrels = {
        str(i): {str(j): int(rng.integers(0, 3)) for j in rng.choice(500, 200, replace=False)}
        for i in range(3)
    }
    expected = rl.evaluate(qrels, full_run(q, d, "dot"), MEASURES)
    found = rl.evaluate_embeddings(q, d, qrels, MEASURES, batch=90)
    for name in MEASURES:
        np.testing.assert_array_equal(found[name], expected[name], name)


def test_sparse_vectors():
    from scipy import sparse

    rng = np.random.default_rng(0)
    q = sparse.random(8, 300, 0.05, "csr", random_state=1, data_rvs=lambda n: rng.integers(1, 4, n))
    d = sparse.random(90, 300, 0.05, "csr", random_state=2, data_rvs=lambda n: rng.integers(1, 4, n))
    qrels = {str(i): {str(j): 1 + i % 2 for j in range(i, 60, 7)} for i in range(8)}
    for similarity in SIMILARITIES:
        expected = rl.evaluate_embeddings(
            q.toarray(), d.toarray(), qrels, MEASURES, similarity=similarity, top=4
        )
        found = rl.evaluate_embeddings(q, d, qrels, MEASURES, similarity=similarity, top=4, batch=32)
        for name in MEASURES:
            np.testing.assert_array_equal(found[name], expected[name], f"{similarity} {name}")
    assert rl.evaluate_embeddings(q, d, qrels, "AP").run is None


def test_late_interaction():
    rng = np.random.default_rng(0)
    q = [rng.normal(size=(rng.integers(1, 6), 8)).astype(np.float32) for _ in range(40)]
    d = [rng.normal(size=(rng.integers(1, 9), 8)).astype(np.float32) for _ in range(120)]
    d[60:] = d[:60]
    qrels = {str(i): {str(j): 1 for j in rng.choice(120, 4, replace=False)} for i in range(40)}

    def best_tokens(one, other):
        products = np.sum(one.astype(float)[:, None] * other.astype(float)[None], axis=2)
        return float(np.sum(products.max(axis=1)))

    run = {str(i): {str(j): best_tokens(one, other) for j, other in enumerate(d)} for i, one in enumerate(q)}
    expected = rl.evaluate(qrels, run, MEASURES)
    found = rl.evaluate_embeddings(q, d, qrels, MEASURES, similarity="maxsim", batch=17, top=3)
    for name in MEASURES:
        np.testing.assert_array_equal(found[name], expected[name], name)
    padded = np.zeros((40, 6, 8), np.float32)
    for i, one in enumerate(q):
        padded[i, : len(one)] = one
    np.testing.assert_array_equal(
        rl.evaluate_embeddings(padded, d, qrels, "AP", similarity="maxsim")["AP"], found["AP"]
    )


def test_shorter_vectors_are_compared_with_whole_ones():
    rng = np.random.default_rng(0)
    d = rng.normal(size=(200, 32)) / np.arange(1, 33)
    q = d[:60] + 0.05 * rng.normal(size=(60, 32))
    qrels = {str(i): {str(i): 1} for i in range(60)}
    sizes = rl.evaluate_embeddings(q, d, qrels, ["RR", "R@1"], similarity="cosine", dims=[2, 8, 32])
    assert list(sizes) == [2, 8, 32]
    alone = rl.evaluate_embeddings(q[:, :8], d[:, :8], qrels, "RR", similarity="cosine")
    np.testing.assert_array_equal(sizes[8]["RR"], alone["RR"])
    assert sizes.comparison.baseline == "32"
    assert sizes.comparison.pair("RR", "32", "2").difference < 0
    assert "32" in str(sizes)
    with pytest.raises(rl.InputError, match=r"dims=\[33\] is not allowed: sizes go from 1 to 32"):
        rl.evaluate_embeddings(q, d, qrels, "RR", dims=[33])


def test_names_and_policies():
    vectors = np.array([[1.0, 0], [0, 1], [1, 1]])
    qrels = {"x": {"c": 1, "absent": 1}, "gone": {"a": 1}}
    with pytest.warns(rl.MismatchWarning, match=r"\('gone'\) and counts as 0, but the run has 1 .* \('y'\)"):
        scores = rl.evaluate_embeddings(
            vectors[:2], vectors, qrels, "R@1, NumQ", query_ids=["x", "y"], doc_ids=["a", "b", "c"]
        )
    assert scores.queries == ["x", "gone"]
    assert scores["R@1"].tolist() == [0.5, 0]
    assert "1 missing from the run counts as 0" in scores.note
    assert "1 unjudged query of the run ignored" in scores.note
    with pytest.raises(rl.PolicyError, match="not in the run"):
        rl.evaluate_embeddings(vectors, vectors, {"9": {"0": 1}}, "RR", missing="error")
    with pytest.raises(rl.InputError, match="'a' appears twice"):
        rl.evaluate_embeddings(vectors, vectors, {"0": {"a": 1}}, "RR", doc_ids=["a", "b", "a"])


@pytest.mark.filterwarnings("error")
def test_ids_that_never_match_are_pointed_at():
    vectors, names = np.eye(6), [f"d{i}" for i in range(6)]
    with pytest.warns(rl.RankLensWarning, match=r"judged: 'x', retrieved: 'd0'"):
        rl.evaluate_embeddings(vectors, vectors, {i: {"x": 1} for i in range(6)}, "RR", doc_ids=names)


def test_the_best_documents_can_be_looked_at():
    vectors = np.eye(4)
    scores = rl.evaluate_embeddings(vectors[:2], vectors, {0: {0: 1}, 1: {0: 1}}, "RR@1", top=2)
    assert [(query.query, query.why(1)) for query in scores.failing()] == [("1", "first relevant at rank 4")]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda q, d: (q[:, :2], d), "queries have vectors of 2 numbers, documents of 3"),
        (lambda q, d: (q[0], d), r"queries has 1 dimension \(shape \(3,\)\)"),
        (lambda q, d: (q, [["a", "b", "c"]]), "documents contains <U1, not numbers"),
        (lambda q, d: (np.where(q == 1, np.nan, q), d), "The vector of query '0' contains NaN"),
        (
            lambda q, d: (q, np.concatenate([d, [[0, np.inf, 0]]])),
            "The vector of document '3' contains NaN, infinity",
        ),
        (lambda q, d: (q, "nowhere.npy"), "nowhere.npy does not exist"),
    ],
)
def test_wrong_input_is_refused(wrong, message):
    vectors = np.eye(3)
    with pytest.raises(rl.InputError, match=message):
        rl.evaluate_embeddings(*wrong(vectors, vectors), {0: {0: 1}}, "RR")


@pytest.mark.parametrize("wrong", [{"top": 0}, {"batch": -1}, {"similarity": "cosinus"}, {"exclude": 7}])
def test_wrong_options_are_refused(wrong):
    with pytest.raises(rl.InputError, match="is not allowed"):
        rl.evaluate_embeddings(np.eye(2), np.eye(2), {0: {0: 1}}, "RR", **wrong)


def test_no_documents_and_no_judgments():
    with pytest.warns(rl.RankLensWarning, match="No query is judged"):
        assert rl.evaluate_embeddings(np.eye(2), np.eye(2), {}, "RR").mean == {"RR": 0.0}
    assert rl.evaluate_embeddings(np.eye(2), np.zeros((0, 2)), {0: {0: 1}}, "RR").mean == {"RR": 0.0}


def test_a_device_without_torch_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(rl.MissingExtraError, match=r"pip install 'ranklens\[gpu\]'"):
        rl.evaluate_embeddings(np.eye(2), np.eye(2), {0: {0: 1}}, "RR", device="cuda")


@pytest.mark.parametrize("doc_ids", [None, ["a", "b", "c"]])
def test_judged_documents_that_are_not_there_are_told(doc_ids):
    there, absent = ("1", "3") if doc_ids is None else ("b", "d")
    vectors = np.eye(3)
    with pytest.warns(
        rl.RankLensWarning,
        match=f"1 judged document is not among the 3 documents .first: '{absent}' for query '1'",
    ):
        rl.evaluate_embeddings(
            vectors, vectors, {"0": {there: 1}, "1": {there: 1, absent: 1}}, "RR", doc_ids=doc_ids
        )


@pytest.mark.parametrize("exclude", ["self", {"0": ["x"]}, {"7": ["b"]}, [("0", "x")]])
def test_nothing_to_leave_out_is_told(exclude):
    vectors = np.eye(3)
    with pytest.warns(rl.RankLensWarning, match="leaves nothing out"):
        rl.evaluate_embeddings(
            vectors, vectors, {"0": {"b": 1}}, "RR", doc_ids=["a", "b", "c"], exclude=exclude
        )


@pytest.mark.parametrize("qrels", [{"0": ["0"], "1": ["1"]}, {"0": ["0"], "1": ["2"]}], ids=["all", "some"])
def test_gold_that_exclude_leaves_out_is_told_as_that(qrels):
    """Not as ids of another format."""
    vectors = np.eye(3)
    with pytest.warns(rl.RankLensWarning) as heard:
        scores = rl.evaluate_embeddings(vectors, vectors, qrels, "RR", exclude="self")
    lost = len([docs for query, docs in qrels.items() if docs == [query]])
    assert [str(one.message).partition(" (first")[0] for one in heard] == [
        f"{lost} {'query has' if lost == 1 else 'queries have'} no judged document left, because exclude='self' leaves all of them out"
    ]
    assert "the query itself?" in str(heard[0].message)
    assert scores["RR"][0] == 0


def test_pairs_that_leave_out_all_gold_are_not_taken_for_ids_that_clash():
    with pytest.warns(rl.RankLensWarning, match=r"because exclude leaves all .* not retrieved\.$"):
        rl.evaluate_embeddings(np.eye(3), np.eye(3), {0: {1: 1}, 1: {2: 1}}, "RR", exclude=[(0, 1)])


@pytest.mark.parametrize(
    "qrels",
    [np.arange(3), np.eye(3), [{0}, {1}, {2}], [[0], [1]], ({0}, {1}), [0, 1, 2], 7, None, []],
    ids=repr,
)
def test_judgments_that_are_not_by_query_are_refused(qrels):
    places = "" if qrels is None or isinstance(qrels, int) else r".*(dict\(enumerate|nothing to read)"
    for refused in (
        lambda: rl.evaluate_embeddings(np.eye(3), np.eye(3), qrels, "RR"),
        lambda: rl.evaluate(qrels, {"0": ["0"]}, "RR"),
        lambda: rl.judgments(qrels),
    ):
        with pytest.raises(rl.InputError, match=f"qrels is (a|an|None)\\b.*{places}"):
            refused()


def test_a_text_is_one_document_to_leave_out():
    vectors, given = np.eye(12), ({"0": {"10": 1}}, "RR")
    one = rl.evaluate_embeddings(vectors, vectors, *given, exclude={"0": "11"}).judged.retrieved
    assert (
        one.tolist()
        == rl.evaluate_embeddings(vectors, vectors, *given, exclude={"0": ["11"]}).judged.retrieved.tolist()
        == [11]
    )


def test_an_iterator_is_read_once():
    vectors = np.eye(3)
    blocks = iter([vectors])
    rl.evaluate_embeddings(vectors, blocks, {"0": {"1": 1}}, "RR")
    with pytest.raises(rl.InputError, match=r"documents gave no vectors\. An iterator can be read only once"):
        rl.evaluate_embeddings(vectors, blocks, {"0": {"1": 1}}, "RR")


def test_one_size_may_be_a_number():
    vectors = np.eye(3)
    sizes = rl.evaluate_embeddings(vectors, vectors, {"0": {"1": 1}}, "RR", dims=2)
    assert list(sizes) == [2]


def test_queries_are_not_read_from_files():
    with pytest.raises(rl.InputError, match=r"queries='Q\.npy' is a path; load them first"):
        rl.evaluate_embeddings("Q.npy", np.eye(3), {"0": {"1": 1}}, "RR")


@pytest.mark.parametrize("ties", ["descending", "average"])
def test_failing_queries_know_ranks_beyond_the_documents_that_were_kept(ties):
    rng = np.random.default_rng(0)
    queries, documents = rng.normal(size=(8, 4)), rng.normal(size=(50, 4))
    qrels = {str(i): {str(d): 1 for d in rng.choice(50, 3, replace=False)} for i in range(8)}
    kept, whole = (
        rl.evaluate_embeddings(queries, documents, qrels, "R@20", ties=ties, top=top).failing()
        for top in (5, 50)
    )
    assert [(q.query, q.reason, q.first, q.found) for q in kept.rows] == [
        (q.query, q.reason, q.first, q.found) for q in whole.rows
    ]
    assert all(len(q.documents) == 5 for q in kept.rows)
