"""Everything that the page shows, as plain data: a summary to be drawn at once, and packed pieces for later.

Numbers come from the :class:`~ranklens.comparison.comparison.Comparison` alone and are not rounded.
"""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ranklens import __version__
from ranklens.comparison import influence, openness, tables, wording
from ranklens.data.files.corpus import texts, titles_and_texts
from ranklens.errors import InputError, RankLensError
from ranklens.metrics import look_up
from ranklens.metrics.formulas.counts import judged_share
from ranklens.report import chart_data, crowd, palette
from ranklens.report.chart_data import registered
from ranklens.report.drilldown import drilldown
from ranklens.report.sample import sample
from ranklens.retrieval.answers import TIMES
from ranklens.scores import Values
from ranklens.words import brief, finite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, MutableMapping, Sequence

    import polars as pl

    from ranklens.comparison.comparison import Comparison
    from ranklens.comparison.results import PairResult, SystemResult
    from ranklens.report.drilldown import Drilldown
    from ranklens.scores import Scores

# What JSON holds. NumPy's numbers and endless floats are taken out at the end, in ``_jsonable``.
Json: TypeAlias = "str | float | np.generic | Sequence[Json] | Mapping[str, Json] | None"
PAIR_FIELDS = ("a", "b", "n", "difference", "low", "high", "adjusted_p", "significant", "wins", "ties", "losses", "detectable")  # fmt: skip
QUERIES_A_PIECE = 200
DOCUMENTS_A_PIECE = 1000
TEXT_BUDGET = 12_000_000  # bytes of document texts before packing; packed they take about half
TEXT_LENGTHS = (1500, 700, 350, 180)  # characters of a document, less where there are many


@dataclass(frozen=True)
class Content:
    """``summary`` is written as JSON, ``pieces`` are bytes by the id of the element that holds them."""

    summary: dict[str, Json]
    pieces: MutableMapping[str, bytes]


def content(
    comparison: Comparison,
    *,
    queries: object = None,
    corpus: object = None,
    title: str | None = None,
    pieces: MutableMapping[str, bytes] | None = None,
) -> Content:
    """What the page shows of a comparison: means, tests and curves over all queries, one by one those that fit the page.

    ``pieces`` is filled one by one, so that others can go on with the first ones.
    """
    if queries is None:
        queries = comparison.texts or None
    shown = sample(comparison)
    documents = drilldown(shown)
    pieces = {} if pieces is None else pieces
    # Measure after measure, system after system: one little-endian double per query.
    values = [np.asarray(shown.values(measure), dtype="<f8").tobytes() for measure in comparison.measures]
    pieces.update(values=b"".join(values), queries=_queries(shown, queries))
    packed = crowd.packed_pairs(comparison) if _is_packed(comparison) else {}
    place = {system: number for number, system in enumerate(comparison.systems)}
    in_detail: Json = None  # what the page has to know if there are many systems, whose pairs become pieces
    if crowd.is_crowded(comparison):
        pieces.update(packed)
        best = [place[system] for system in crowd.in_detail(comparison)]
        in_detail = {"in_detail": best, "packed": bool(packed), "fields": list(crowd.PACKED)}
    policy = next((scores.policy for scores in comparison.scores.values()), None)
    if comparison.evidence is not None:
        policy = comparison.evidence.policy
    summary: dict[str, Json] = {
        "title": title or _title(comparison.systems),
        "version": __version__,
        "created": _today(),
        "systems": list(comparison.systems),
        "dashes": [" ".join(map(str, dash)) for dash in palette.DASHES],
        "baseline": comparison.baseline,
        "n": len(comparison.query_ids),
        "shown": len(shown.query_ids),
        "level": comparison.level,
        "alpha": comparison.alpha,
        "cautions": list(comparison.cautions),
        "primary": None if comparison.primary is None else comparison.measures.index(comparison.primary),
        "conclusion": comparison.conclusion or None,
        "measures": [_measure(comparison, name) for name in comparison.measures],
        **_results(comparison),
        "crowd": in_detail,
        "teams": [*map(comparison.teams.get, comparison.systems)] if comparison.teams else None,
        "charts": _charts(crowd.detailed(comparison)),
        "latency": _latency(comparison),
        "status": {s: dict(counts) for s, counts in (comparison.status or {}).items()} or None,
        "errors": {s: dict(errors) for s, errors in shown.errors.items()},
        "spent": {what: dict(sums) for what, sums in comparison.spent.items()},
        "bounds": {
            comparison.shown(name): {"systems": bounds, "open": openness.told(comparison, name)}
            for name, bounds in comparison.cheap_bounds.items()
        },
        "trust": {name: _trust(scores, comparison.measures) for name, scores in comparison.scores.items()},
        "policy": [list(row) for row in policy.decisions().items()] if policy is not None else [],
        "statistics": _statistics(comparison),
        "has_texts": {"queries": queries is not None, "corpus": corpus is not None},
    }
    if documents is not None:
        summary["documents"] = _pack(documents, corpus, pieces)
    return Content({key: _jsonable(value) for key, value in summary.items()}, pieces)


def _title(systems: Sequence[str]) -> str:
    """The first systems by name, the others by number; of very many only the number.

    >>> _title(["bm25", "dense", "fusion", "names"])
    'RankLens report · bm25 · dense · fusion and 1 more'
    """
    if len(systems) > crowd.MANY:
        return f"RankLens report · {len(systems):,} systems"
    more = f" and {len(systems) - 3} more" if len(systems) > 3 else ""
    return " · ".join(["RankLens report", *systems[:3]]) + more


def _today() -> str:
    """The date of today, or of SOURCE_DATE_EPOCH, so that a file can be made again byte for byte."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not seconds:
        return dt.datetime.now(dt.timezone.utc).strftime("%Y-%m-%d")
    try:
        return dt.datetime.fromtimestamp(int(seconds), dt.timezone.utc).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        raise InputError(
            f"SOURCE_DATE_EPOCH is {brief(seconds)!r}; it is a number of seconds, or not set."
        ) from None


def _measure(comparison: Comparison, name: str) -> dict[str, Json]:
    quantity, verdict = comparison.quantity(name), wording.of_measure(comparison, name)
    shown: dict[str, Json] = {
        "name": comparison.shown(name),
        "aggregate": quantity.aggregate,
        "better": quantity.better,
        "range": list(quantity.bounds),
        "verdict": {"claim": verdict.claim, "reasons": verdict.reasons},
        "slice_verdict": wording.of_slices(comparison, name),
        "influence": influence.told(comparison, name),
    }
    measure = registered(name)
    if measure is None:
        return {**shown, "definition": ["Given values, not computed by RankLens."], "parameters": {}}
    params, definition = dict(measure.params), measure.definition
    parameters = {key: p.default for key, p in definition.parameters.items()} | params
    set_ones = {key: str(value) for key, value in parameters.items() if value not in (None, False)}
    # By paragraph, with the definition it refers to; nothing about parameters that were not given.
    paragraphs = [f"The same as {name}."] if shown["name"] != name else []
    paragraphs += definition.explained(params)
    if definition.like is not None:
        first, *rest = look_up(definition.like).explained(params)
        paragraphs += [f"{definition.like}: {first}", *rest]
    return {**shown, "definition": paragraphs, "parameters": set_ones}


def _results(comparison: Comparison) -> dict[str, Json]:
    """Means and pairs over all queries, then slice by slice, with measures in the spelling that was asked for.

    ``{"results": {measure: rows}, "pairs": {measure: rows}, "slices": [the same for each], "macro": {measure: rows}}``;
    the rows of systems follow the order of the leaderboard.
    """
    place = {m: {s: i for i, s in enumerate(comparison.ranked(m))} for m in comparison.measures}
    shown = {measure: comparison.shown(measure) for measure in comparison.measures}

    def by_measure(results: Iterable[SystemResult], pairs: Iterable[PairResult]) -> dict[str, Json]:
        means: dict[str, list[Json]] = {name: [] for name in shown.values()}
        differences: dict[str, list[Json]] = {name: [] for name in shown.values()}
        for r in sorted(results, key=lambda r: place[r.measure][r.system]):
            low, high = r.interval if r.interval is not None else (None, None)
            means[shown[r.measure]].append(
                {"system": r.system, "n": r.n, "mean": r.mean, "low": low, "high": high, "group": r.group}
            )
        for pair in pairs:
            ends = {"low": pair.interval.low, "high": pair.interval.high}
            fields: dict[str, Json] = {
                name: ends[name] if name in ends else getattr(pair, name) for name in PAIR_FIELDS
            }
            if pair.is_open:
                fields["open"] = True
            margin = pair.terms.settings.margins.get(pair.measure)
            if margin is not None:
                fields |= {"margin": chart_data.margin_size(pair), "margin_text": str(margin)}
                fields |= {"decision": pair.decision, "turned": pair.reverse_decision}
            differences[shown[pair.measure]].append(fields)
        return {"results": means, "pairs": differences}

    packed = _is_packed(comparison)
    return {
        **by_measure(comparison.results, () if packed else comparison.pairs),
        "slices": [
            {"name": part.name, "n": part.n, **by_measure(part.results, () if packed else part.pairs)}
            for part in comparison.slices
        ],
        "macro": by_measure(comparison.macro, ())["results"] if comparison.slices else None,
    }


def _is_packed(comparison: Comparison) -> bool:
    """Whether pairs are pieces: with a baseline there are only as many of them as systems."""
    return crowd.is_crowded(comparison) and comparison.baseline is None


def _statistics(comparison: Comparison) -> list[list[str]]:
    """How differences were tested, in words."""
    joint = "hold together and agree with the tests"
    if not comparison.settings.is_joint:
        joint = "not corrected for the number of pairs"
    intervals = ["Intervals", f"{100 * comparison.level:.4g}%, {joint}"]
    if not len(comparison.pairs):
        return [intervals]
    alpha, seed = f"{comparison.alpha:g}", str(comparison.seed)
    test = tables.method(comparison)
    return [["Test", test], intervals, ["Significance level", alpha], ["Random seed", seed]]


def _charts(comparison: Comparison) -> dict[str, Json]:
    """Curves, by chart; one that cannot be drawn for this comparison says why."""
    measures = [m for m in map(registered, comparison.measures) if m is not None]
    with_cutoff = str(next((m for m in measures if m.definition.at == "k"), "nDCG@10"))
    tables: dict[str, Callable[[], pl.DataFrame]] = {
        "first_relevant": lambda: chart_data.first_relevant(comparison),
        "precision_recall": lambda: chart_data.precision_recall(comparison),
        "over_k": lambda: chart_data.over_k(comparison, with_cutoff),
    }
    charts: dict[str, Json] = {"over_k_measure": chart_data.without_cutoff(comparison, with_cutoff)}
    for name, table in tables.items():
        try:
            charts[name] = table().to_dicts()
        except RankLensError as reason:  # noqa: PERF203  three charts
            charts[name] = str(reason)
    return charts


def _latency(comparison: Comparison) -> Json:
    """Percentiles in seconds, and for each measure the systems on the Pareto front."""
    times = chart_data.timed(comparison)
    if not times:
        return None
    front = {
        comparison.shown(m): chart_data.latency(comparison, m).filter("front")["system"].to_list()
        for m in comparison.measures
    }
    rows = {system: {name: getattr(time, name) for name in TIMES} for system, time in times.items()}
    return {"systems": rows, "front": front}


def _trust(scores: Scores, measures: Sequence[str]) -> dict[str, Json]:
    """What was counted on the way, and how far the judgments reach, at each cutoff that a measure uses."""
    applied, answered = scores.applied, scores.retrieved > 0
    cutoffs = sorted({m.k for m in map(registered, measures) if m is not None and m.k is not None} | {10})
    judged = scores.judged if scores.is_ranked else None
    shares = [judged_share(judged, k=k)[answered] if judged is not None else np.zeros(0) for k in cutoffs]
    return {
        "queries": applied.queries,
        "missing": applied.missing,
        "ignored": applied.ignored,
        "without_relevant": applied.empty,
        "empty": int((~answered).sum()),
        "duplicates": applied.duplicates,
        "duplicate_judgments": applied.duplicate_judgments,
        "cutoffs": [
            {
                "k": k,
                "judged": float(share.mean()) if len(share) else None,
                "with_holes": int((share < 1).sum()),
                "tied": judged.ties.reaching(k) if judged is not None and judged.ties is not None else None,
            }
            for k, share in zip(cutoffs, shares, strict=True)
        ],
    }


def _queries(comparison: Comparison, queries: object) -> bytes:
    ids = list(comparison.query_ids)
    columns: dict[str, Json] = {"ids": ids}
    if queries is not None:
        text_of = texts(queries, ids, "queries")
        columns["texts"] = [
            "" if text is None else f"{text.title} {text.text}".strip() for text in map(text_of.get, ids)
        ]
    if comparison.slice_of is not None:
        place = {part.name: i for i, part in enumerate(comparison.slices)}
        columns["slices"] = [place.get(comparison.slice_of.get(query, ""), -1) for query in ids]
    retrieved: dict[str, Json] = dict.fromkeys(comparison.systems)
    for system, scores in comparison.scores.items():
        values = Values(scores.queries, {"retrieved": scores.retrieved}).over(ids)
        retrieved[system] = values["retrieved"].tolist()
    columns["retrieved"] = list(retrieved.values())
    return _bytes(columns)


def _pack(documents: Drilldown, corpus: object, pieces: MutableMapping[str, bytes]) -> dict[str, Json]:
    """Rankings and documents into pieces; what the page has to know to find its way in them."""
    for number, part in enumerate(documents.parts(QUERIES_A_PIECE)):
        pieces[f"rankings-{number}"] = part.encode()
    shown, counts = _fitting(corpus, documents.documents)
    fields = ("ids", "titles", "texts") if counts["known"] else ("ids",)
    for number, rows in enumerate(shown.iter_slices(DOCUMENTS_A_PIECE)):
        pieces[f"documents-{number}"] = _bytes({name: rows[name].to_list() for name in fields})
    return {
        "depth": documents.depth,
        "rel": documents.rel,
        "max_grade": documents.max_grade,
        "systems": list(documents.systems),
        "queries_a_piece": QUERIES_A_PIECE,
        "documents_a_piece": DOCUMENTS_A_PIECE,
        "n": len(shown),
        "texts": counts,
    }


def _fitting(corpus: object, documents: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """The documents as ``ids, titles, texts``, and how many texts were left out or cut.

    There are as many texts as the budget allows, those of relevant documents first, then by rank.
    """
    import polars as pl

    ids = documents["doc"].to_list()
    titles, bodies = titles_and_texts(corpus, ids)
    table = documents.select("relevant", "rank", ids="doc").with_columns(
        known=pl.Series([text is not None for text in bodies], dtype=pl.Boolean),
        titles=pl.Series(titles, dtype=pl.String).fill_null(""),
        texts=pl.Series(bodies, dtype=pl.String).fill_null(""),
    )
    for length in TEXT_LENGTHS:
        # Texts that are longer than that end there, and their titles sooner.
        is_cut = pl.col("texts").str.len_chars() > length
        start = pl.col("texts").str.slice(0, length).str.strip_chars_end() + " …"
        cut = table.with_columns(
            is_cut=is_cut,
            titles=pl.when(is_cut).then(pl.col("titles").str.slice(0, 200)).otherwise("titles"),
            texts=pl.when(is_cut).then(start).otherwise("texts"),
        )
        if cut["texts"].str.len_bytes().sum() <= TEXT_BUDGET:
            break
    order = cut.with_row_index("row").filter("known")
    order = order.sort("relevant", "rank", descending=[True, False], maintain_order=True)
    size = (order["titles"].str.len_bytes() + order["texts"].str.len_bytes()).cast(pl.Int64).cum_sum()
    fits = np.zeros(len(cut), dtype=bool)
    fits[order["row"].to_numpy()[(size <= TEXT_BUDGET).to_numpy()]] = True
    shown = [
        pl.when(pl.Series(fits)).then(name).otherwise(pl.lit("")).alias(name) for name in ("titles", "texts")
    ]
    return cut.select("ids", *shown), {
        "known": len(order),
        "left_out": len(order) - int(fits.sum()),
        "length": length,
        "cut": int((cut["is_cut"].to_numpy() & fits).sum()),
        "unknown": len(cut) - len(order),
    }


def _bytes(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _jsonable(value: Json) -> Json:
    """What JSON cannot hold (an endless interval) as nothing; NumPy's numbers as Python's."""
    if isinstance(value, dict):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return finite(value) if isinstance(value, float) else value
