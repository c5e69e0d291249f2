"""Every command, with its options, on a pair of files."""

import json
from pathlib import Path

from fuzz.files import IDS, JUNK, KINDS, damaged

MEASURES = "nDCG@3,RR,P@2,AP"
_OUTPUTS = ("table", "json", "jsonl", "csv", "tsv", "markdown", "latex", "html")
_SUFFIXES = ("csv", "tsv", "jsonl", "txt", "parquet", "csv.gz", "txt.zst", "jsonl.xz", "tsv.bz2")
_TESTS = ("t", "randomization", "wilcoxon", "sign", "bootstrap", "welch", "tukey")


def any_command(rng, qrels, run, folder):
    """A command and what comes through standard input."""
    name = rng.choice([*COMMANDS])
    return COMMANDS[name](rng, str(qrels), str(run), folder)


def _evaluate(rng, q, r, _):
    options = [[], [], ["-q"], ["--format", rng.choice(_OUTPUTS)], ["--ties", "average"], ["--nan", "last"], ["--missing", "skip"],
               ["--judged-only"], ["--failing", "2"], ["--failing", "1", "--queries", q], ["--depth", "2"], ["--rel", "2"],
               ["--format", "csv", "--spreadsheet", "-q"], ["--duplicates", "error"], ["--match", "parent:#"],
               ["--map", "query=query"], ["--run-format", rng.choice(KINDS)], ["--qrels-format", rng.choice(KINDS)]]  # fmt: skip
    return ["evaluate", q, r, "-m", MEASURES, *rng.choice(options)]


def _measured(rng, q, r, _):
    name = rng.choice(["nDCG@3", "AP", "RBP(p=0.5)@5", "P(rel=2)@5", "all_trec", "rag"])
    return ["evaluate", q, r, "-m", text(rng, name)]


def _standard_input(rng, q, r, _):
    if Path(q).is_dir() or rng.random() < 0.5:
        return ["evaluate", q, "-", "-m", MEASURES], Path(r).read_bytes()
    return ["evaluate", "-", r, "-m", MEASURES], Path(q).read_bytes()


def _compare(rng, q, r, _):
    options = [["--by", f"{q}:kind"], ["--by", f"{r}:doc"], ["--format", rng.choice(_OUTPUTS)], ["--most", "2"], ["--documents", rng.choice(IDS)],
               ["--format", "csv", "--rows", rng.choice(["systems", "pairs", "queries"])], ["--baseline", "b"], []]  # fmt: skip
    return ["compare", q, r, f"b={r}", "-m", "RR,P@2", "--test", rng.choice(_TESTS), *rng.choice(options)]


def _convert(rng, q, r, folder):
    target = str(folder / f"out.{rng.choice(_SUFFIXES)}")
    return rng.choice([["convert", r, target], ["convert", r, target], ["convert", q, target, "--kind", "qrels"],
                       ["convert", q, target], ["convert", str(folder / "run2"), r], ["convert", r, "-", "--format", "trec"]])  # fmt: skip


def _explain(rng, q, r, _):
    options = [
        [],
        ["--query", rng.choice(IDS)],
        ["--format", rng.choice(_OUTPUTS)],
        ["--queries", q],
        ["--rows", "1"],
    ]
    return ["explain", rng.choice(["AP", "nDCG@3", "RR"]), q, r, *rng.choice(options)]


def _report(rng, q, r, folder):
    texts = rng.choice([[], ["--queries", q], ["--corpus", q], ["--corpus", r]])
    return ["report", q, r, f"b={r}", "-m", "RR", "-o", str(folder / "o.html"), *texts]


def _bench(rng, q, r, folder):
    config = folder / f"bench.{rng.choice(['yaml', 'json', 'toml'])}"
    files = {
        "qrels": Path(q).name,
        "runs": {"a": Path(r).name},
    }  # so that damage does not depend on where the folder is
    told = json.dumps({"data": files, "gates": {"floors": {"RR": 0.1}}}).encode()
    config.write_bytes(damaged(rng, "yaml", told) if rng.random() < 0.5 else told)
    return ["bench", str(config), "--no-code", *rng.choice([[], ["--format", rng.choice(_OUTPUTS)]])]


def _trec_eval(rng, q, r, _):
    options = [
        ["-q"],
        ["-m", "all_trec"],
        ["-c", "-m", "official"],
        ["-M", "2"],
        ["-l", "2"],
        ["-J"],
        ["-m", text(rng, "ndcg_cut.3")],
    ]
    return ["trec-eval", *rng.choice(options), q, r]


COMMANDS = {
    "evaluate": _evaluate,
    "evaluate -m": _measured,
    "evaluate -": _standard_input,
    "compare": _compare,
    "convert": _convert,
    "explain": _explain,
    "report": _report,
    "bench": _bench,
    "trec-eval": _trec_eval,
    "lint": lambda _, q, r, __: ["lint", q, r],
    "measures": lambda rng, *_: ["measures", *rng.choice([[text(rng, "nDCG")], ["--for", text(rng, "rag")]])],
}


def text(rng, given):
    """An argument, perhaps with something within it that does not belong there; no argument can hold a NUL."""
    if rng.random() < 0.5:
        return given
    place = rng.randint(0, len(given))
    return (given[:place] + rng.choice(JUNK).decode(errors="surrogateescape") + given[place:]).replace(
        "\0", ""
    )
