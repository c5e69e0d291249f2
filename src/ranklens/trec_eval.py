"""A drop-in for the trec_eval command: its flags, its measures, its numbers, its formatting.

``ranklens-trec-eval -q -m official qrels run`` prints what trec_eval 10.0 prints; ``--as 9`` what 9.0.8 prints.
"""

from __future__ import annotations

import getopt
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ranklens import trec_groups
from ranklens.errors import InputError, MeasureError, RankLensError, nearest
from ranklens.judged import Judged
from ranklens.judging import judge
from ranklens.policy import Policy
from ranklens.readers import text
from ranklens.readers.sources import Source, open_source
from ranklens.registry import parse
from ranklens.scores import logs_with_floor
from ranklens.trec_measures import NICKNAMES, TREC_MEASURES, Printed, chosen

USAGE = """Usage: ranklens-trec-eval [-h] [-q] {-m measure}* qrels_file run_file

  -q, --query_eval_wanted          values for each query as well
  -m, --measure NAME[.PARAMS]      a measure, e.g. map, P.5,10, ndcg.1=3,2=9; or official (default), set, all_trec
  -c, --complete_rel_info_wanted   average over all judged queries; those missing from the run count as empty
  -l, --level_for_rel N            the lowest relevant grade (default 1)
  -n, --nosummary                  no summary
  -J, --Judged_docs_only           remove unjudged documents first
  -M, --Max_retrieved_per_topic N  use the first N documents only
  -N, --Number_docs_in_coll N      the size of the collection, for utility
  -R, --Rel_info_format FORMAT     qrels (default), prefs, qrels_prefs (with -m all_prefs) or qrels_jg (with -m qrels_jg)
  -T, --Results_format FORMAT      trec_results (default)
  -Z, --Zscore FILE                z-scores, from lines of query, measure, mean, deviation
  -D, --Debug_level N              accepted and ignored
      --as 9                       what trec_eval 9.0.8 gives: 32-bit scores, its rounding of recall levels
  -h, --help                       this text, and the description of measures named with -m
  -v, --version                    the version

Examples:
  ranklens-trec-eval qrels.txt run.txt
  ranklens-trec-eval -q -c -m ndcg_cut.10 -m recall.100 qrels.txt run.txt
"""

_SHORT = "hvqm:cl:nD:JN:M:R:T:oZ:"
_LONG = {
    "help": "-h", "version": "-v", "query_eval_wanted": "-q", "measure=": "-m", "complete_rel_info_wanted": "-c",
    "level_for_rel=": "-l", "nosummary": "-n", "Debug_level=": "-D", "Judged_docs_only": "-J", "Number_docs_in_coll=": "-N",
    "Max_retrieved_per_topic=": "-M", "Rel_info_format=": "-R", "Results_format=": "-T", "Zscore=": "-Z", "as=": "--as",
}  # fmt: skip
_DEFAULTS = {"prefs": "prefs", "qrels_prefs": "prefs", "qrels_jg": "qrels_jg"}
_FORMATS = ("qrels", "prefs", "qrels_prefs", "qrels_jg")
_PHANTOM = "ceci_nest_pas_un_docno"  # what trec_eval 10 retrieves for a query that the run lacks


@dataclass
class Options:
    """The flags of the command."""

    by_query: bool = False
    complete: bool = False
    summary: bool = True
    judged_only: bool = False
    level: int = 1
    depth: int | None = None
    documents: int = 0
    measures: list[str] = field(default_factory=list)
    zscores: str | None = None
    version: int = 10
    format: str = "qrels"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0 if all went well, 1 for wrong usage, 2 for wrong input."""
    try:
        flags, files = getopt.gnu_getopt(
            sys.argv[1:] if arguments is None else list(arguments), _SHORT, [*_LONG]
        )
        options, action = _options(flags)
        if action is not None:
            return action
        if len(files) != 2:
            raise getopt.GetoptError("give a file of judgments and a run")  # noqa: TRY301
    except (getopt.GetoptError, MeasureError) as error:
        sys.stderr.write(f"ranklens-trec-eval: {error}\n\n{USAGE}")
        return 1
    try:
        sys.stdout.writelines(evaluate_files(files[0], files[1], options))
    except MeasureError as error:
        sys.stderr.write(f"ranklens-trec-eval: {error}\n")
        return 1
    except (RankLensError, OSError) as error:
        sys.stderr.write(f"ranklens-trec-eval: {error}\n")
        return 2
    return 0


def _options(flags: Sequence[tuple[str, str]]) -> tuple[Options, int | None]:  # noqa: PLR0912  one case a flag
    """The options; and an exit status, if help or the version was asked for."""
    options, help_wanted = Options(), False
    short = {f"--{name.rstrip('=')}": flag for name, flag in _LONG.items()}
    for given, value in flags:
        match short.get(given, given):
            case "-h":
                help_wanted = True
            case "-v":
                from ranklens import __version__

                sys.stderr.write(f"trec_eval version 10.0 (RankLens {__version__})\n")
                return options, 0
            case "-q":
                options.by_query = True
            case "-c":
                options.complete = True
            case "-n":
                options.summary = False
            case "-J":
                options.judged_only = True
            case "-m":
                options.measures.append(value)
            case "-Z":
                options.zscores = value
            case "-R" | "-T" as flag:
                allowed = _FORMATS if flag == "-R" else ("trec_results",)
                if value not in allowed:
                    raise getopt.GetoptError(f"{flag} {value}: {nearest(value, allowed)}")
                options.format = value if flag == "-R" else options.format
            case "-l" | "-M" | "-N" | "--as" as flag:
                _set_number(options, flag, value)
    if help_wanted:
        sys.stdout.write(USAGE + _describe(options.measures))
        return options, 0
    return options, None


def _set_number(options: Options, flag: str, value: str) -> None:
    names = {"-l": "level", "-M": "depth", "-N": "documents", "--as": "version"}
    if not value.strip().isdigit() or (flag == "--as" and value not in ("9", "10")):
        allowed = "9 or 10" if flag == "--as" else "a whole number"
        raise getopt.GetoptError(f"{flag} {value}: give {allowed}")
    setattr(options, names[flag], int(value))


def _describe(requests: Sequence[str]) -> str:
    names = [
        name
        for request in requests
        for name in NICKNAMES.get(request.partition(".")[0], [request.partition(".")[0]])
    ]
    known = [name for name in TREC_MEASURES if name in names]
    lines = [
        f"\n{name}\n    {TREC_MEASURES[name].printed()[0].measure.definition.description}\n" for name in known
    ]
    return "".join(lines)


def evaluate_files(qrels: str, run: str, options: Options) -> Iterator[str]:
    """The lines that trec_eval prints for two files."""
    if options.format != "qrels":
        yield from _evaluate_groups(qrels, run, options)
        return
    with_runid, lines = chosen(options.measures or ["official"], options.version)
    gold = text.read_fields(
        open_source(qrels),
        text.TREC_QRELS,
        {"query": False, "document": False, "grade": True},
    ).rename({"document": "doc"})
    source = open_source(run)
    ranked, missing = _read_run(source, gold, options)
    judged = judge(
        gold,
        ranked,
        missing="skip",
        duplicates="error",
        judged_only=options.judged_only,
        depth=options.depth,
        rel=options.level,
    )
    if not len(judged):
        raise InputError("No queries with both results and relevance info")
    order = sorted(range(len(judged)), key=lambda i: judged.queries[i].encode())
    columns = []
    for line in lines:
        values = _values(judged, line, missing, options)
        columns.append(_Column(line, [values[i] for i in order]))
    queries = [judged.queries[i] for i in order]
    runid = _runid(source) if with_runid else None
    yield from _print(queries, columns, len(missing), _totals(gold, options), options, runid)


def _evaluate_groups(qrels: str, run: str, options: Options) -> Iterator[str]:
    """The measures over judgment groups and preferences."""
    judgments = trec_groups.read_judgments(open_source(qrels), options.format)
    source = open_source(run)
    rankings: dict[str, dict[str, float]] = {}
    for query, doc, score in _read_run(source, None, options)[0].iter_rows():
        rankings.setdefault(query, {})[doc] = score
    absent = {j.query for j in judgments}.difference(rankings)
    if options.complete:
        rankings |= {query: {_PHANTOM: 1.0} for query in absent}
    if options.format == "qrels_jg":
        policy = Policy(rel=options.level, depth=options.depth, judged_only=options.judged_only)
        found = trec_groups.average_over_groups(judgments, rankings, policy)
    else:
        found = trec_groups.preferences(judgments, rankings, options.depth)
    if not found:
        raise InputError("No queries with both results and relevance info")
    queries = sorted(found, key=str.encode)
    names = trec_groups.wanted(options.measures or [_DEFAULTS[options.format]], list(found[queries[0]]))
    counts = Printed("num_q", parse("NumQ"), whole=True, by_query=False)
    columns = [_Column(counts, [1.0] * len(queries))]
    for name in names:
        line = Printed(name, parse("AP"), whole=name.startswith("prefs_num_"))
        columns.append(_Column(line, [found[query][name] for query in queries]))
    yield from _print(queries, columns, len(absent), None, options, _runid(source))


def _read_run(source: Source, gold: Any | None, options: Options) -> tuple[Any, set[str]]:
    """The run, and the judged queries that it lacks; with ``-c`` version 10 gives each of them one unjudged document."""
    import polars as pl

    run = text.read_fields(source, text.TREC_RUN, {"query": False, "document": False, "score": True})
    run = run.rename({"document": "doc"})
    if options.version == 9:
        run = run.with_columns(pl.col("score").cast(pl.Float32).cast(pl.Float64))
    if gold is None:
        return run, set()
    absent = gold["query"].unique(maintain_order=True)
    absent = absent.filter(~absent.is_in(run["query"].unique().implode()))
    if options.complete and options.version == 10 and len(absent):
        phantom = pl.DataFrame(
            {"query": absent, "doc": [_PHANTOM] * len(absent), "score": [1.0] * len(absent)}
        )
        run = pl.concat([run, phantom])
    return run, set(absent.to_list())


@dataclass(frozen=True)
class _Totals:
    queries: int
    relevant: int


def _totals(gold: Any, options: Options) -> _Totals | None:
    """With ``-c``: all judged queries, and all documents above grade 0, whatever ``-l`` says."""
    return _Totals(gold["query"].n_unique(), int((gold["grade"] >= 1).sum())) if options.complete else None


def _runid(source: Source) -> str:
    """The tag of the last line."""
    lines = source.tail().decode("utf-8", errors="replace").splitlines()
    fields = next((line.split() for line in reversed(lines) if line.strip() and not line.startswith("#")), [])
    return fields[5] if len(fields) > 5 else ""


@dataclass(frozen=True)
class _Column:
    line: Printed
    values: list[Any]  # in the order of the queries


def _print(
    queries: Sequence[str],
    columns: Sequence[_Column],
    missing: int,
    totals: _Totals | None,
    options: Options,
    runid: str | None,
) -> Iterator[str]:
    z = ""
    if options.zscores:
        z, scores = "Z", _zscores(options.zscores)
        columns = [
            _Column(
                c.line, [_zscore(scores, q, c.line.name, v) for q, v in zip(queries, c.values, strict=True)]
            )
            for c in columns
        ]
    if options.by_query:
        for i, query in enumerate(queries):
            for column in columns:
                if column.line.by_query:
                    value = _text(column.values[i], column.line.whole and not z)
                    yield f"{z}{column.line.name:<22}\t{query}\t{value}\n"
    if options.summary:
        if runid is not None:
            yield f"{'runid':<22}\tall\t{runid}\n"
        for column in columns:
            if column.line.summary:
                total = _summary(column.line, column.values, missing, totals, options)
                yield f"{z}{column.line.name:<22}\tall\t{_text(total, column.line.whole and not z)}\n"


def _values(judged: Judged, line: Printed, missing: set[str], options: Options) -> list[Any]:
    measure = line.measure
    accepts = measure.definition.parameters
    if options.level != 1 and "rel" in accepts:
        measure = measure.replace(rel=options.level)
    if options.version == 9 and "rounding" in accepts:
        measure = measure.replace(rounding="trec9")
    if options.documents and line.name.startswith("utility"):
        measure = measure.replace(docs=options.documents)
    values = list(measure(judged))
    if options.judged_only and (line.level is not None or measure.name == "AP11"):
        _divide_by_nothing(values, judged, line.level or 0.0, options)
    # trec_eval 10 takes these back for queries that the run lacks, by name: "utility" but not "utility_2,-1,0,0".
    if line.name in ("num_ret", "utility", "relstring", "rbp_resid") or line.name.startswith("unj"):
        for i, query in enumerate(judged.queries):
            if query in missing:
                values[i] = "" if line.name == "relstring" else 0.0
    return values


def _divide_by_nothing(values: list[Any], judged: Judged, level: float, options: Options) -> None:
    """Where ``-J`` leaves nothing retrieved, trec_eval divides 0 by 0 at recall levels that need no document."""
    needed = np.floor(level * judged.total(options.level) + (0.9 if options.version == 9 else 0.5))
    for i in np.flatnonzero((judged.retrieved == 0) & (needed == 0)).tolist():
        values[i] = math.nan


def _summary(
    line: Printed, values: Sequence[float], missing: int, totals: _Totals | None, options: Options
) -> float:
    if line.name == "num_q":
        return totals.queries if totals else len(values)
    if line.name == "num_rel" and totals:
        return totals.relevant
    count = totals.queries if totals else len(values)
    if line.measure.definition.aggregate == "geometric":
        absent = [0.0] * (missing if totals and options.version == 9 else 0)
        return math.exp(float(np.cumsum(logs_with_floor(np.array([*values, *absent])))[-1]) / count)
    total = 0.0
    for value in values:  # one after the other, as trec_eval adds
        total += float(value)
    return total if line.whole else total / count


def _text(value: Any, whole: bool) -> str:
    if isinstance(value, str):
        return f"'{value}'"
    if math.isnan(value):
        return "  -nan"
    return f"{value:.0f}" if whole else f"{value:6.4f}"


def _zscores(path: str) -> Mapping[tuple[str, str], tuple[float, float]]:
    names = ("query", "measure", "mean", "deviation")
    wanted = {"query": False, "measure": False, "mean": True, "deviation": True}
    frame = text.read_fields(open_source(path), names, wanted)
    return {(query, name): (mean, deviation) for query, name, mean, deviation in frame.iter_rows()}


def _zscore(
    scores: Mapping[tuple[str, str], tuple[float, float]], query: str, name: str, value: Any
) -> float:
    if (query, name) not in scores:
        return -1000000.0
    mean, deviation = scores[query, name]
    return (float(value) - mean) / deviation


if __name__ == "__main__":
    sys.exit(main())
