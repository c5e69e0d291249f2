"""An evaluator in the shape that sentence-transformers calls: graded, over the whole corpus, with the values per query kept."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ranklens.errors import InputError
from ranklens.metrics import Measure, parse_many
from ranklens.metrics.conventions import Convention, chosen, read
from ranklens.models.embeddings.evaluation import EmbeddingScores, evaluate_embeddings
from ranklens.models.embeddings.similarity import Similarity
from ranklens.policy import Policy
from ranklens.report.trackers.destinations import find

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ranklens.models.embeddings.evaluation import CountingOptions

# The measures that sentence-transformers reports, and its words for them.
_USUAL = [
    *(f"Success@{k}" for k in (1, 3, 5, 10)),
    *(f"{name}@{k}" for k in (1, 3, 5, 10) for name in ("P", "R")),
    "RR@10",
    "nDCG@10",
    "AP(norm=min)@100",
]
_WORDS = {"Success": "Accuracy", "P": "Precision", "R": "Recall", "RR": "MRR", "nDCG": "NDCG", "AP": "MAP"}
_SIMILARITIES: Mapping[str, Similarity] = {
    "cosine": "cosine", "dot": "dot", "dot_product": "dot", "euclidean": "euclidean",
}  # fmt: skip


class Evaluator:
    """Evaluates a model during training: ``evaluator(model, output_path, epoch, steps)`` returns ``{name: mean}``.

    ``queries`` and ``corpus`` are texts by id, ``qrels`` judgments of any shape, graded or not. Names of the means are those of
    sentence-transformers' ``InformationRetrievalEvaluator``, such as ``dev_cosine_ndcg@10``, so
    ``metric_for_best_model="eval_dev_cosine_ndcg@10"`` works; ``primary_metric`` is the name of ``primary``, by default the nDCG with the
    largest cutoff, or the first measure. Values are theirs as well: unless a ``policy`` or ``convention`` is given, ties go by ascending document
    id and queries without relevant documents are left out, unlike in :func:`ranklens.evaluate_embeddings`. Each call is kept in :attr:`history`, for :func:`~ranklens.training.compare_checkpoints`, and
    written to a CSV file in ``output_path``. ``log_to="mlflow"``, ``"wandb"`` or ``"tensorboard:logs"`` logs each call with its step
    (:meth:`ranklens.Scores.log_to`). Without a ``similarity``, the model's own is used, or cosine. Policies, ``convention``, and ``exclude``,
    ``batch`` and ``device``, are those of :func:`ranklens.evaluate_embeddings`.

    >>> class Model:
    ...     def encode(self, texts, **kwargs): return [[len(text), 1.0] for text in texts]
    >>> evaluator = Evaluator({"q": "abc"}, {"a": "xyz", "b": "much longer"}, {"q": {"a": 2}}, ["nDCG@10", "RR@10"], name="dev")
    >>> evaluator(Model()), evaluator.primary_metric
    ({'dev_cosine_ndcg@10': 1.0, 'dev_cosine_mrr@10': 1.0}, 'dev_cosine_ndcg@10')
    """

    greater_is_better = True

    def __new__(cls, *args: object, **kwargs: object) -> Evaluator:  # noqa: PYI034  Python 3.10 has no Self
        """Under sentence-transformers it is one of its evaluators, because its trainer asks for that."""
        del args, kwargs
        theirs = getattr(
            sys.modules.get("sentence_transformers.base.evaluation"), "BaseEvaluator", None
        ) or getattr(sys.modules.get("sentence_transformers.evaluation"), "SentenceEvaluator", None)
        if theirs is None or issubclass(cls, theirs):
            return super().__new__(cls)
        both = type(cls.__name__, (cls, theirs), {"__module__": cls.__module__, "__doc__": cls.__doc__})
        return super().__new__(both)

    def __init__(
        self,
        queries: Mapping[object, str],
        corpus: Mapping[object, str],
        qrels: object,
        measures: str | Measure | Sequence[str | Measure] | None = None,
        policy: Policy | None = None,
        *,
        name: str = "",
        primary: str | Measure | None = None,
        similarity: Similarity | None = None,
        batch_size: int = 32,
        truncate_dim: int | None = None,
        write_csv: bool = True,
        log_to: object = None,
        convention: str | Convention | None = None,
        **options: Unpack[CountingOptions],
    ) -> None:
        self.queries, self.corpus, self.qrels = dict(queries), dict(corpus), qrels
        self.measures, policy = read(parse_many(_USUAL) if measures is None else measures, convention, policy)
        if policy is None:
            policy = chosen("sentence-transformers").policy_for(self.measures)
        self.name, self.similarity, self.batch_size = name, similarity, batch_size
        self.truncate_dim, self.write_csv, self.log_to = truncate_dim, write_csv, log_to
        if log_to is not None:
            find(log_to)  # one that cannot be used is refused before the training
        self._policy, self._options = policy, options
        self._primary = _choose_primary(self.measures, primary)
        self.primary_metric: str | None = None
        self.history: dict[str, EmbeddingScores] = {}

    def __call__(
        self,
        model: object,
        output_path: str | Path | None = None,
        epoch: float = -1,
        steps: int = -1,
        **_: object,
    ) -> dict[str, float]:
        similarity = self.similarity or _SIMILARITIES.get(
            str(getattr(model, "similarity_fn_name", "") or "cosine"), "cosine"
        )
        scores = evaluate_embeddings(
            self._encode(model, "encode_query", list(self.queries.values())),
            self._encode(model, "encode_document", list(self.corpus.values())),
            self.qrels,
            self.measures,
            self._policy,
            similarity=similarity,
            query_ids=list(self.queries),
            doc_ids=list(self.corpus),
            **self._options,
        )
        parts = [f"epoch {epoch:g}"] if epoch != -1 else []
        parts += [f"step {steps}"] if steps != -1 else []
        self.history[", ".join(parts) or f"call {len(self.history) + 1}"] = scores
        means = {self._key(measure, similarity): scores.mean[str(measure)] for measure in self.measures}
        self.primary_metric = self._key(self._primary, similarity)
        self.greater_is_better = self._primary.definition.better != "lower"
        if output_path is not None and self.write_csv:
            self._write(Path(output_path), scores, similarity, epoch, steps)
        if self.log_to is not None:  # without the report, which is large, for each of many steps
            step = steps if steps != -1 else len(self.history)
            scores.log_to(self.log_to, step=step, name=self.name, report=False)
        card = getattr(model, "model_card_data", None)
        if card is not None and hasattr(card, "set_evaluation_metrics"):
            card.set_evaluation_metrics(self, means, epoch, steps)
        return means

    @property
    def description(self) -> str:
        """What a model card calls it."""
        return "Information Retrieval"

    def get_config_dict(self) -> dict[str, int]:
        """What a model card says about it."""
        return {} if self.truncate_dim is None else {"truncate_dim": self.truncate_dim}

    def _encode(self, model: object, method: str, texts: list[str]) -> object:
        encode = getattr(model, method, None) or getattr(model, "encode", None)
        if encode is None:
            raise InputError(
                f"{type(model).__name__} has no method encode; pass a model that turns texts into vectors."
            )
        options: dict[str, int] = {"batch_size": self.batch_size, "show_progress_bar": False}
        if hasattr(model, "similarity_fn_name"):  # sentence-transformers: vectors stay where they are made
            options["convert_to_tensor"] = True
        vectors = encode(texts, **options)
        return vectors if self.truncate_dim is None else vectors[:, : self.truncate_dim]

    def _key(self, measure: Measure, similarity: str) -> str:
        key = f"{similarity}_{_word(measure).lower() if _word(measure) != str(measure) else measure}"
        return f"{self.name}_{key}" if self.name else key

    def _write(
        self, folder: Path, scores: EmbeddingScores, similarity: str, epoch: float, steps: int
    ) -> None:
        """One line per call, with the header that sentence-transformers writes."""
        folder.mkdir(parents=True, exist_ok=True)
        place = folder / f"Information-Retrieval_evaluation{'_' if self.name else ''}{self.name}_results.csv"
        is_new = not place.exists()
        with place.open("a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if is_new:
                writer.writerow(
                    ["epoch", "steps", *(f"{similarity}-{_word(measure)}" for measure in self.measures)]
                )
            writer.writerow([epoch, steps, *(scores.mean[str(measure)] for measure in self.measures)])


def _word(measure: Measure) -> str:
    """sentence-transformers' word where it has one for just this measure, else the measure's own name."""
    name, at, k = str(measure).replace("AP(norm=min)", "AP(min)").partition("@")
    word = _WORDS.get("AP" if name == "AP(min)" else "" if name == "AP" else name)
    return f"{word}@{k}" if word and at else str(measure)


def _choose_primary(measures: Sequence[Measure], asked: str | Measure | None) -> Measure:
    if asked is not None:
        wanted = parse_many(asked)[0]
        if wanted not in measures:
            raise InputError(
                f"primary={str(wanted)!r} is not among the measures: {', '.join(map(str, measures))}."
            )
        return wanted
    gains = [measure for measure in measures if measure.definition.name == "nDCG"]
    return max(gains, key=lambda measure: measure.k or 1 << 62, default=measures[0])
