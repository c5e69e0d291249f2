"""Everything that the page shows, as plain data: a summary to be drawn at once, and packed pieces for later.

Numbers come from the :class:`~ranklens.comparison.comparison.Comparison` alone and are not rounded.
"""

from __future__ import annotations

import datetime as dt
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens import __version__
from ranklens.comparison import influence, openness, tables, wording
from ranklens.data.files.corpus import Text, texts, titles_and_texts
from ranklens.errors import InputError, RankLensError
from ranklens.metrics import look_up
from ranklens.metrics.formulas.counts import judged_share
from ranklens.report import chart_data, crowd, palette
from ranklens.report.chart_data import registered
from ranklens.report.drilldown import drilldown
from ranklens.report.sample import sample
from ranklens.retrieval.answers import Latency
from ranklens.scores import Values
from ranklens.words import brief, finite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, MutableMapping, Sequence

    import polars as pl

    from ranklens.comparison.comparison import Comparison
    from ranklens.comparison.pairs import PairResult
    from ranklens.comparison.results import SystemResult
    from ranklens.metrics import Measure
    from ranklens.policy import Policy
    from ranklens.report.drilldown import Drilldown
    from ranklens.scores import Scores

PAIR_FIELDS = ("a", "b", "n", "difference", "low", "high", "adjusted_p", "significant", "wins", "ties", "losses", "detectable")  # fmt: skip
QUERIES_A_PIECE = 200
DOCUMENTS_A_PIECE = 1000
TEXT_BUDGET = 12_000_000  # bytes of document texts before packing; packed they take about half
TEXT_LENGTHS = (1500, 700, 350, 180)  # characters of a document, less where there are many


@dataclass(frozen=True)
class Content:
    """``summary`` is written as JSON, ``pieces`` are bytes by the id of the element that holds them."""

    summary: dict[str, Any]
    pieces: MutableMapping[str, bytes]


def content(
    comparison: Comparison,
    *,
    queries: Any = None,
    corpus: Any = None,
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
    pieces.update(values=_values(shown), queries=_queries(shown, queries))
    many = _crowd(comparison, pieces)
    summary = {
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
        "crowd": many,
        "teams": [comparison.teams.get(system) for system in comparison.systems]
        if comparison.teams
        else None,
        "charts": _charts(crowd.detailed(comparison)),
        "latency": _latency(comparison),
        "status": {s: dict(counts) for s, counts in (comparison.status or {}).items()} or None,
        "errors": {s: dict(errors) for s, errors in shown.errors.items()},
        "spent": {what: dict(sums) for what, sums in comparison.spent.items()},
        "bounds": _bounds(comparison),
        "trust": {name: _trust(scores, comparison.measures) for name, scores in comparison.scores.items()},
        "policy": _policy(comparison),
        "statistics": _statistics(comparison),
        "has_texts": {"queries": queries is not None, "corpus": corpus is not None},
    }
    if documents is not None:
        summary["documents"] = _pack(documents, corpus, pieces)
    return Content(_jsonable(summary), pieces)


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
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not given:
        return dt.datetime.now(dt.timezone.utc).strftime("%Y-%m-%d")
    try:
        return dt.datetime.fromtimestamp(int(given), dt.timezone.utc).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        raise InputError(
            f"SOURCE_DATE_EPOCH is {brief(given)!r}; it is a number of seconds, or not set."
        ) from None


def _measure(comparison: Comparison, name: str) -> dict[str, Any]:
    quantity, verdict = comparison.quantity(name), wording.of_measure(comparison, name)
    found = {
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
        return {**found, "definition": ["Given values, not computed by RankLens."], "parameters": {}}
    given, definition = dict(measure.params), measure.definition
    parameters = {key: given.get(key, p.default) for key, p in definition.parameters.items()}
    shown = {key: str(value) for key, value in parameters.items() if value not in (None, False)}
    same = [f"The same as {name}."] if found["name"] != name else []
    return {**found, "definition": [*same, *_definition(measure)], "parameters": shown}


def _definition(measure: Measure) -> list[str]:
    """What was measured, by paragraph, with the definition it refers to; nothing about parameters that were not given.

    >>> _definition(registered("nDCG@10"))[1:]
    ['DCG: Discounted cumulated gain: the sum of gain / log2(rank + 1) over the top k.', 'The gain is the grade. A negative grade gains 0.']
    """
    given = dict(measure.params)
    own, other = measure.definition.told(given), measure.definition.like
    if other is None:
        return own
    first, *rest = look_up(other).told(given)
    return [*own, f"{other}: {first}", *rest]


def _results(comparison: Comparison) -> dict[str, Any]:
    """Means and pairs over all queries, then slice by slice, with measures in the spelling that was asked for.

    ``{"results": {measure: rows}, "pairs": {measure: rows}, "slices": [the same for each], "macro": {measure: rows}}``;
    the rows of systems follow the order of the leaderboard.
    """
    place = {m: {s: i for i, s in enumerate(comparison.ranked(m))} for m in comparison.measures}
    shown = {measure: comparison.shown(measure) for measure in comparison.measures}

    def of(results: Iterable[SystemResult], pairs: Iterable[PairResult]) -> dict[str, Any]:
        means: dict[str, list[dict[str, Any]]] = {name: [] for name in shown.values()}
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in shown.values()}
        for result in sorted(results, key=lambda r: place[r.measure][r.system]):
            means[shown[result.measure]].append(_mean(result))
        for pair in pairs:
            found[shown[pair.measure]].append(_pair(pair))
        return {"results": means, "pairs": found}

    packed = _is_packed(comparison)
    return {
        **of(comparison.results, () if packed else comparison.pairs),
        "slices": [
            {"name": part.name, "n": part.n, **of(part.results, () if packed else part.pairs)}
            for part in comparison.slices
        ],
        "macro": of(comparison.macro, ())["results"] if comparison.slices else None,
    }


def _is_packed(comparison: Comparison) -> bool:
    """Whether pairs are pieces: with a baseline there are only as many of them as systems."""
    return crowd.is_crowded(comparison) and comparison.baseline is None


def _crowd(comparison: Comparison, pieces: MutableMapping[str, bytes]) -> dict[str, Any] | None:
    """What the page has to know if there are many systems, whose pairs become pieces."""
    if not crowd.is_crowded(comparison):
        return None
    packed = crowd.packed_pairs(comparison) if _is_packed(comparison) else {}
    pieces.update(packed)
    place = {system: i for i, system in enumerate(comparison.systems)}
    chosen = [place[system] for system in crowd.in_detail(comparison)]
    return {"in_detail": chosen, "packed": bool(packed), "fields": list(crowd.PACKED)}


def _mean(result: SystemResult) -> dict[str, Any]:
    low, high = result.interval if result.interval is not None else (None, None)
    return {"system": result.system, "n": result.n, "mean": result.mean, "low": low, "high": high, "group": result.group}  # fmt: skip


def _pair(pair: PairResult) -> dict[str, Any]:
    low, high = pair.interval
    known = {"low": low, "high": high}
    found = {name: known[name] if name in known else getattr(pair, name) for name in PAIR_FIELDS}
    if pair.is_open:
        found["open"] = True
    margin = pair.terms.settings.margins.get(pair.measure)
    if margin is None:
        return found
    return {
        **found,
        "margin": chart_data.margin_size(pair),
        "margin_text": str(margin),
        "decision": pair.decision,
        "turned": pair.reverse_decision,
    }


def _statistics(comparison: Comparison) -> list[list[str]]:
    """How differences were tested, in words."""
    joint = (
        "hold together and agree with the tests"
        if comparison.settings.is_joint
        else "not corrected for the number of pairs"
    )
    rows = [["Intervals", f"{100 * comparison.level:.4g}%, {joint}"]]
    if len(comparison.pairs):
        rows.insert(0, ["Test", tables.method(comparison)])
        rows += [
            ["Significance level", f"{comparison.alpha:g}"],
            ["Random seed", str(comparison.seed)],
        ]
    return rows


def _charts(comparison: Comparison) -> dict[str, Any]:
    """Curves, by chart; one that cannot be drawn for this comparison says why."""
    known = [m for m in map(registered, comparison.measures) if m is not None]
    cut = str(next((m for m in known if m.definition.at == "k"), "nDCG@10"))
    drawn: dict[str, Callable[[], pl.DataFrame]] = {
        "first_relevant": lambda: chart_data.first_relevant(comparison),
        "precision_recall": lambda: chart_data.precision_recall(comparison),
        "over_k": lambda: chart_data.over_k(comparison, cut),
    }
    plain = chart_data.without_cutoff(comparison, cut)
    return {"over_k_measure": plain, **{name: _drawn(draw) for name, draw in drawn.items()}}


def _drawn(draw: Callable[[], pl.DataFrame]) -> list[dict[str, Any]] | str:
    try:
        return draw().to_dicts()
    except RankLensError as reason:
        return str(reason)


def _bounds(comparison: Comparison) -> dict[str, Any]:
    """By measure: what unjudged documents leave open, in words and for each system."""
    return {
        comparison.shown(name): {"systems": found, "open": openness.told(comparison, name)}
        for name, found in comparison.cheap_bounds.items()
    }


def _latency(comparison: Comparison) -> dict[str, Any] | None:
    """Percentiles in seconds, and for each measure who is on the Pareto front."""
    if not comparison.latencies:
        return None
    shown = ("p50", "p90", "p95", "p99", "mean")
    timed = {system: Latency.of(seconds) for system, seconds in comparison.latencies.items() if len(seconds)}
    rows = {system: {name: getattr(time, name) for name in shown} for system, time in timed.items()}
    front = {
        comparison.shown(m): chart_data.latency(comparison, m).filter("front")["system"].to_list()
        for m in comparison.measures
    }
    return {"systems": rows, "front": front} if rows else None


def _trust(scores: Scores, measures: Sequence[str]) -> dict[str, Any]:
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


def _policy(comparison: Comparison) -> list[list[str]]:
    """What was decided where the data leave it open, in words."""
    policy = _known_policy(comparison)
    return [list(row) for row in policy.decisions().items()] if policy is not None else []


def _known_policy(comparison: Comparison) -> Policy | None:
    if comparison.evidence is not None:
        return comparison.evidence.policy
    return next((scores.policy for scores in comparison.scores.values()), None)


def _values(comparison: Comparison) -> bytes:
    """Measure after measure, system after system: one little-endian double per query."""
    return b"".join(np.asarray(comparison.values(m), dtype="<f8").tobytes() for m in comparison.measures)


def _queries(comparison: Comparison, given: Any) -> bytes:
    ids = list(comparison.query_ids)
    found: dict[str, Any] = {"ids": ids}
    if given is not None:
        known = texts(given, ids, "queries")
        found["texts"] = [_joined(known.get(query)) for query in ids]
    if comparison.slice_of is not None:
        place = {part.name: i for i, part in enumerate(comparison.slices)}
        found["slices"] = [place.get(comparison.slice_of.get(query, ""), -1) for query in ids]
    found["retrieved"] = [_retrieved(comparison, system) for system in comparison.systems]
    return _bytes(found)


def _retrieved(comparison: Comparison, system: str) -> list[int] | None:
    scores = comparison.scores.get(system)
    if scores is None:
        return None
    retrieved = Values(scores.queries, {"retrieved": scores.retrieved}).over(comparison.query_ids)
    return list(retrieved["retrieved"].tolist())


def _joined(text: Text | None) -> str:
    return "" if text is None else f"{text.title} {text.text}".strip()


def _pack(documents: Drilldown, corpus: Any, pieces: MutableMapping[str, bytes]) -> dict[str, Any]:
    """Rankings and documents into pieces; what the page has to know to find its way in them."""
    for number, part in enumerate(documents.parts(QUERIES_A_PIECE)):
        pieces[f"rankings-{number}"] = part.encode()
    shown, told = _fitting(corpus, documents.documents)
    fields = ("ids", "titles", "texts") if told["known"] else ("ids",)
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
        "texts": told,
    }


def _fitting(corpus: Any, documents: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The documents as ``ids, titles, texts``, and how many texts were left out or cut.

    There are as many texts as the budget allows, those of relevant documents first, then by rank.
    """
    import polars as pl

    ids = documents["doc"].to_list()
    titles, given = titles_and_texts(corpus, ids)
    table = documents.select("relevant", "rank", ids="doc").with_columns(
        known=pl.Series([text is not None for text in given], dtype=pl.Boolean),
        titles=pl.Series(titles, dtype=pl.String).fill_null(""),
        texts=pl.Series(given, dtype=pl.String).fill_null(""),
    )
    for length in TEXT_LENGTHS:
        cut = _cut(table, length)
        if cut["texts"].str.len_bytes().sum() <= TEXT_BUDGET:
            break
    order = cut.with_row_index("row").filter("known")
    order = order.sort("relevant", "rank", descending=[True, False], maintain_order=True)
    size = (order["titles"].str.len_bytes() + order["texts"].str.len_bytes()).cast(pl.Int64).cum_sum()
    kept = np.zeros(len(cut), dtype=bool)
    kept[order["row"].to_numpy()[(size <= TEXT_BUDGET).to_numpy()]] = True
    shown = [
        pl.when(pl.Series(kept)).then(name).otherwise(pl.lit("")).alias(name) for name in ("titles", "texts")
    ]
    told = {"known": len(order), "left_out": len(order) - int(kept.sum()), "length": length}
    told |= {"cut": int((cut["is_cut"].to_numpy() & kept).sum()), "unknown": len(cut) - len(order)}
    return cut.select("ids", *shown), told


def _cut(table: pl.DataFrame, length: int) -> pl.DataFrame:
    """Texts that are longer than that end there, and their titles sooner."""
    import polars as pl

    start = pl.col("texts").str.slice(0, length).str.strip_chars_end() + " …"
    return table.with_columns(is_cut=pl.col("texts").str.len_chars() > length).with_columns(
        titles=pl.when("is_cut").then(pl.col("titles").str.slice(0, 200)).otherwise("titles"),
        texts=pl.when("is_cut").then(start).otherwise("texts"),
    )


def _bytes(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _jsonable(value: Any) -> Any:
    """What JSON cannot hold (an endless interval) as nothing; NumPy's numbers as Python's."""
    if isinstance(value, dict):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return finite(value) if isinstance(value, float) else value
