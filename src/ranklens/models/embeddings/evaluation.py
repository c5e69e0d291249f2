"""Embeddings + judgments + measures → :class:`EmbeddingScores`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args, overload

from ranklens.errors import InputError, nearest
from ranklens.judging.assembly import assemble
from ranklens.judging.inputs import Sources
from ranklens.metrics import Measure, parse_many, with_rel
from ranklens.metrics.conventions import Convention, read
from ranklens.models.embeddings.judged_ranks import TieOrder
from ranklens.models.embeddings.model import Model, read_model
from ranklens.models.embeddings.ranking import Ranking
from ranklens.models.embeddings.similarity import Similarity
from ranklens.models.embeddings.task import Ids, make_task
from ranklens.policy import Policy, PolicyOptions, make_policy
from ranklens.scores import Scores
from ranklens.scores.evaluation import score
from ranklens.stats.inputs import count

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ranklens.comparison.comparison import Comparison

    class CountingOptions(PolicyOptions, total=False):
        """What may be asked of each evaluation of a model."""

        exclude: object
        top: int | None
        batch: int | None
        device: str | None

    class EmbeddingOptions(CountingOptions, total=False):
        """The options of :func:`evaluate_embeddings` but ``dims``, which decides what it returns."""

        similarity: Similarity
        query_ids: Sequence[object] | None
        doc_ids: Sequence[object] | None
        vectors: str | None
        convention: str | Convention | None


Measures = str | Measure | Sequence[str | Measure]


@dataclass(frozen=True, repr=False)
class EmbeddingScores(Scores):
    """:class:`~ranklens.Scores` of a model; ``run`` holds the best documents of each query if ``top`` asked for them."""

    @property
    def run(self) -> Mapping[str, Mapping[str, float]] | None:
        """``{query: {document: score}}``, best first."""
        run = None if self.sources is None else self.sources.run
        return run if isinstance(run, Mapping) else None


@overload
def evaluate_embeddings(
    queries: object, documents: object, qrels: object, measures: Measures = ..., policy: Policy | None = ...,
    *, dims: None = ..., **options: Unpack[EmbeddingOptions],
) -> EmbeddingScores: ...  # fmt: skip
@overload
def evaluate_embeddings(
    queries: object, documents: object, qrels: object, measures: Measures = ..., policy: Policy | None = ...,
    *, dims: int | Sequence[int], **options: Unpack[EmbeddingOptions],
) -> Matryoshka: ...  # fmt: skip
def evaluate_embeddings(
    queries: object,
    documents: object,
    qrels: object,
    measures: Measures = "rag",
    policy: Policy | None = None,
    *,
    similarity: Similarity = "dot",
    query_ids: Sequence[object] | None = None,
    doc_ids: Sequence[object] | None = None,
    exclude: object = None,
    dims: int | Sequence[int] | None = None,
    top: int | None = None,
    batch: int | None = None,
    device: str | None = None,
    vectors: str | None = None,
    convention: str | Convention | None = None,
    **options: Unpack[PolicyOptions],
) -> EmbeddingScores | Matryoshka:
    """Score a model by its embeddings: every judged document is ranked among *all* documents, never a top k.

    ``queries`` and ``documents`` hold one vector per row: arrays or tensors of any library, SciPy sparse rows, or, with
    ``similarity="maxsim"``, one list of vectors per item. Documents may also be a ``.npy``, ``.safetensors`` or Parquet file, a
    folder of such files (``vectors`` names the column or tensor if there are several), or an iterator of blocks; they need not fit
    into memory. Packed bits, eight in a byte, are compared with ``similarity="hamming"``. ``qrels`` are judgments of any shape, by row number or, if given, by ``query_ids`` and ``doc_ids``.

    Ranks are those of float64 scores, whatever the precision of the vectors. ``exclude`` leaves documents out of rankings:
    ``"self"`` (the one with the query's id), ``{query: [documents]}`` or pairs. ``top=k`` also keeps the best k documents of each
    query, for the report and for :attr:`EmbeddingScores.run`. ``dims=[64, 768]`` evaluates vectors cut to their first numbers and
    returns a :class:`~ranklens.models.embeddings.evaluation.Matryoshka`. ``batch`` is the number of documents compared at once.
    ``device="cuda"`` counts on a GPU, which tensors that are there need not be told; ``device="cpu"`` lets torch help on a processor that is
    fast at bfloat16, as it does anyway where it is loaded. Policies and ``convention`` are given as everywhere.

    >>> import numpy as np
    >>> documents = np.array([[1, 0], [0.9, 0.1], [0, 1]])
    >>> scores = evaluate_embeddings(np.array([[1, 0], [0, 1]]), documents, {0: {1: 1}, 1: {2: 1}}, ["RR", "R@1"])
    >>> scores.mean
    {'RR': 0.75, 'R@1': 0.5}
    """
    if similarity not in get_args(Similarity):
        raise InputError(
            f"similarity={similarity!r} is not allowed: {nearest(str(similarity), get_args(Similarity))}"
        )
    if isinstance(queries, (str, os.PathLike)):
        raise InputError(
            f"queries={queries!r} is a path; load them first: only documents are read from files."
        )
    for name, number in (("top", top), ("batch", batch)):
        if number is not None:
            count(number, name)
    measures, policy = read(measures, convention, policy)
    chosen = make_policy(policy, options)
    wanted = [with_rel(measure, chosen.rel) for measure in parse_many(measures)]
    with ExitStack() as stack:
        model = read_model(queries, documents, similarity, vectors, stack)
        q_ids = Ids(query_ids, model.rows, "query_ids")
        d_ids = Ids(model.corpus.ids() if doc_ids is None else doc_ids, len(model.corpus), "doc_ids")
        task = make_task(qrels, q_ids, d_ids, exclude, chosen)
        order = TieOrder(chosen.ties, d_ids.names)
        ranking = Ranking(task, q_ids, d_ids, order, batch, device, top)

        def scores(cut: Model[Any, Any]) -> EmbeddingScores:
            places, run = ranking.of(cut)
            judged = assemble(task.standings(places), chosen)
            sources = None if run is None else Sources(qrels, run)
            return EmbeddingScores(wanted, judged, score(judged, wanted).values, sources)

        if dims is None:
            return scores(model)
        sizes = sorted({int(size) for size in ([dims] if isinstance(dims, int) else dims)})
        most = model.corpus.size
        if not sizes or sizes[0] < 1 or sizes[-1] > most:
            raise InputError(
                f"dims={[dims] if isinstance(dims, int) else list(dims)!r} is not allowed: sizes go from 1 to {most}, the size of these vectors."
            )
        return Matryoshka({size: scores(model.cut(size)) for size in sizes})


class Matryoshka(dict[int, Scores]):
    """Scores by the number of dimensions kept; made by ``evaluate_embeddings(..., dims=[64, 768])``.

    >>> import numpy as np, ranklens as rl
    >>> documents = np.random.default_rng(0).normal(size=(50, 16))
    >>> sizes = rl.evaluate_embeddings(documents[:9], documents, {i: {i: 1} for i in range(9)}, "RR", dims=[2, 16])
    >>> list(sizes), sizes[16].mean
    ([2, 16], {'RR': 1.0})
    >>> sizes.comparison.systems
    ('2', '16')
    """

    @cached_property
    def comparison(self) -> Comparison:
        """All sizes against the largest one, with paired tests."""
        return self.compare()

    def compare(self, **settings: Any) -> Comparison:
        """The same with settings of :func:`ranklens.compare`, such as ``test`` and ``correction``."""
        from ranklens.comparison.compare import compare_scores

        named = {str(dims): scores.per_query for dims, scores in self.items()}
        if len(named) > 1:
            settings.setdefault("baseline", str(max(self)))
        return compare_scores(named, **settings)

    def __str__(self) -> str:
        return str(self.comparison)

    def __repr__(self) -> str:
        means = "; ".join(f"{dims}: {scores!r}" for dims, scores in self.items())
        return f"Matryoshka({means})"

    def _repr_html_(self) -> str:
        return self.comparison._repr_html_()
