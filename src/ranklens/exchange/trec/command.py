"""A drop-in for the trec_eval command: its flags, its measures, its numbers, its formatting.

``ranklens-trec-eval -q -m official qrels run`` prints what trec_eval 10.0 prints; ``--as 9`` what 9.0.8 prints.
"""

from __future__ import annotations

import getopt
import re
import sys
from collections.abc import Iterator, Sequence

from ranklens.data.files import trec
from ranklens.errors import Given, InputError, InPython, MeasureError, Option, RankLensError, nearest
from ranklens.exchange.trec import groups
from ranklens.exchange.trec.evaluation import NothingInCommonError, Options, evaluate_files
from ranklens.exchange.trec.measures import GROUP_MEASURES, NICKNAMES, TREC_MEASURES, requested
from ranklens.process import guarded, program, warnings_in_one_line
from ranklens.words import visible

USAGE = """Usage: ranklens-trec-eval [-h] [-q] {-m measure}* qrels_file run_file

  -q, --query_eval_wanted          also print values for each query
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
  -D, --Debug_level N[.QUERY]      print to standard error where judged documents were found; evaluate only QUERY
  -o                               accepted for compatibility with trec_eval; no effect
      --as 9                       match trec_eval 9.0.8: 32-bit scores and its rounding of recall levels
  -h, --help                       print this text and describe the measures given with -m
  -v, --version                    the version

Either file may be compressed; - is standard input.

Examples:
  ranklens-trec-eval qrels.txt run.txt
  ranklens-trec-eval -q -c -m ndcg_cut.10 -m recall.100 qrels.txt run.txt
"""

_NAME = "ranklens-trec-eval"
_SHORT = "hvqm:cl:nD:JN:M:R:T:oZ:"
_LONG = {
    "help": "-h", "version": "-v", "query_eval_wanted": "-q", "measure=": "-m", "complete_rel_info_wanted": "-c",
    "level_for_rel=": "-l", "nosummary": "-n", "Debug_level=": "-D", "Judged_docs_only": "-J", "Number_docs_in_coll=": "-N",
    "Max_retrieved_per_topic=": "-M", "Rel_info_format=": "-R", "Results_format=": "-T", "Output_old_results_format=": "-o",
    "Zscore=": "-Z", "as=": "--as",
}  # fmt: skip
_SWITCHES = {"-q": ("by_query", True), "-c": ("complete", True), "-n": ("summary", False), "-J": ("judged_only", True)}  # fmt: skip
_CONTROL = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\x9f]")
_POLICY = "\ue000"  # stands for a policy in a message
_NUMBERS = {"-l": "level", "-M": "depth", "-N": "documents", "--as": "version"}
_FORMATS = {"-R": ("qrels", "prefs", "qrels_prefs", "qrels_jg"), "-T": ("trec_results",)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 for success, 1 for wrong usage, 2 for wrong input, 3 if the system failed."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    return (program if arguments is None else guarded)(_NAME, lambda: run(words))


def run(arguments: Sequence[str]) -> int:
    """The same without handling errors other than wrong usage."""
    try:
        flags, files = getopt.gnu_getopt(list(arguments), _SHORT, [*_LONG])
        options, action = _options(flags)
        if action is not None:
            return action
        if len(files) != 2:
            raise getopt.GetoptError("expected two files: judgments and a run")  # noqa: TRY301
    except (getopt.GetoptError, MeasureError, InputError) as error:
        sys.stderr.write(f"{_NAME}: {visible(str(error))}\n\n{USAGE}")
        return 2 if isinstance(error, InputError) else 1
    try:
        with warnings_in_one_line(_NAME):
            _write(evaluate_files(files[0], files[1], options))
    except RankLensError as error:
        sys.stderr.write(f"{_NAME}: {visible(_without_policies(error))}\n")
        # As trec_eval ends.
        return 7 if isinstance(error, NothingInCommonError) else 1 if isinstance(error, MeasureError) else 2
    return 0


def _without_policies(error: RankLensError) -> str:
    """The message without advice to choose a policy, as this command has trec_eval's only.

    >>> from ranklens.errors import Option
    >>> _without_policies(RankLensError("It appears twice. Remove one, or choose ", Option("duplicates", "first"), "."))
    'It appears twice. Remove one.'
    """

    def marked(part: Option | InPython) -> str:
        if isinstance(part, InPython):
            return part.command
        return str(part) if isinstance(part, Given) else _POLICY

    message = re.sub(f",? or choose {_POLICY}( or {_POLICY})*", "", error.spelled(marked))
    return re.sub(f" ?[^.]*{_POLICY}[^.]*\\.", "", message)


def _write(printed: Iterator[str]) -> None:
    """Ids that are not UTF-8 are written as they were read; control characters, which a terminal or a log would obey, are escaped."""
    if sys.stdout.isatty():
        sys.stdout.writelines(map(visible, printed))
        return
    for written in printed:
        line = visible(written) if _CONTROL.search(written) else written
        if line.isascii() or (raw := trec.original(line)) == line.encode():
            sys.stdout.write(line)
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(raw)
            sys.stdout.buffer.flush()


def _options(flags: Sequence[tuple[str, str]]) -> tuple[Options, int | None]:
    """The options; and an exit status, if help or the version was asked for."""
    options, help_wanted = Options(), False
    short = {f"--{name.rstrip('=')}": flag for name, flag in _LONG.items()}
    for given, value in flags:
        flag = short.get(given, given)
        if flag == "-v":
            from ranklens import __version__

            sys.stderr.write(f"trec_eval version 10.0 (RankLens {__version__})\n")
            return options, 0
        if flag == "-h":
            help_wanted = True
        elif flag in _SWITCHES:
            setattr(options, *_SWITCHES[flag])
        elif flag != "-o":
            _set(options, flag, value)
    if help_wanted:
        known = [*TREC_MEASURES, *GROUP_MEASURES, *groups.PREFERENCES]
        wanted = requested(options.measures, {**NICKNAMES, **groups.NICKNAMES}, known)
        texts = {
            name: measure.printed()[0].measure.definition.description
            for name, measure in {**TREC_MEASURES, **GROUP_MEASURES}.items()
        }
        texts.update(groups.PREFERENCES)
        sys.stdout.write(
            USAGE + "".join(f"\n{name}\n    {texts[name]}\n" for name in known if name in wanted)
        )
    return options, 0 if help_wanted else None


def _set(options: Options, flag: str, value: str) -> None:
    """A flag with a value."""
    if flag == "-m":
        options.measures.append(value)
    elif flag == "-Z":
        options.zscores = value
    elif flag in _FORMATS:
        if value not in _FORMATS[flag]:
            raise InputError(f"{flag} {value}: {nearest(value, _FORMATS[flag])}")
        options.format = value if flag == "-R" else options.format
    elif flag == "-D":
        level, _, query = value.partition(".")
        options.debug, options.query = _whole(flag, level), query or None
    else:
        setattr(options, _NUMBERS[flag], _whole(flag, value))


def _whole(flag: str, value: str) -> int:
    if flag == "--as" and value not in ("9", "10"):
        raise getopt.GetoptError(f"{flag} {value}: give 9 or 10")
    if not value.strip().isdecimal():
        raise getopt.GetoptError(f"{flag} {value}: expected a whole number from 0")
    return int(value)


if __name__ == "__main__":
    sys.exit(main())
