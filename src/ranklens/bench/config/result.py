"""The results of a configuration, in every format."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ranklens.guard import wording
from ranklens.retrieval.ages import in_words
from ranklens.retrieval.answers import TIMES
from ranklens.scores import Scores, details
from ranklens.tables.table import Lines, Printout, Shown, Table
from ranklens.words import counted

if TYPE_CHECKING:
    import polars as pl

    from ranklens.bench.config.model import Config, StatisticalAnalysis
    from ranklens.comparison.comparison import Comparison
    from ranklens.guard.verdicts import Outcome, Verdict
    from ranklens.retrieval.answers import RetrieverRun
    from ranklens.retrieval.benchmark import Benchmark

FORMAT_VERSION = 1  # of to_json; 1: first version
# Of a retriever's run, in JSON.
_OF_A_RUN = ("name", "k", "status", "latency", "throughput", "version", "tokens", "cost", "stored", "oldest")


@dataclass(frozen=True)
class BenchResult(Shown):
    """The results of a configuration: scores by system, their comparison, and the gates."""

    config: Config
    scores: Mapping[str, Scores]
    comparison: Comparison | None
    benchmark: Benchmark | None
    outcome: Outcome

    @property
    def checks(self) -> tuple[Verdict, ...]:
        """One verdict for each gate and system."""
        return self.outcome.verdicts

    @property
    def passed(self) -> bool:
        """Whether all gates held, and every retriever answered."""
        return not self.unanswered and (self.outcome.passed or not self.config.rules)

    @property
    def unanswered(self) -> list[RetrieverRun]:
        """Retrievers whose calls all failed."""
        results = self.benchmark.results.values() if self.benchmark is not None else ()
        return [result for result in results if len(result.failures) == len(result.answers)]

    def table(self) -> Table:
        """Means by system, with intervals unless the configuration says otherwise."""
        if self.comparison is not None:
            return next(part for part in self._compared() if isinstance(part, Table))
        level = self.config.confidence if self._analysis.confidence_intervals else None
        first = next(iter(self.scores.values()))
        measures = [m for m in first.measures if m.definition.aggregate != "none"]
        rows = []
        notes: dict[str, list[str]] = {}
        for name, one in self.scores.items():
            notes.setdefault("; ".join(details(one.account(), one.measures)), []).append(name)
            row = [name]
            for measure in measures:
                if measure.definition.aggregate == "sum":
                    row.append(f"{one.mean[str(measure)]:,.0f}")
                else:
                    around = "" if level is None else f" {one.interval(measure, level=level)}"
                    row.append(f"{one.mean[str(measure)]:.4f}{around}")
            rows.append(row)
        lines = [line if len(notes) == 1 else f"{', '.join(names)}: {line}" for line, names in notes.items()]
        lines += [f"{level:.0%} intervals"] if level is not None else []
        return Table(["system", *(m.shown for m in measures)], rows, note=".\n".join(lines) + ".")

    def to_markdown(self) -> str:
        """Everything that print shows, as Markdown."""
        return self.printout().to_markdown()

    def to_latex(self) -> str:
        """A table for a paper."""
        return self.comparison.to_latex() if self.comparison is not None else self.table().to_latex()

    def to_frame(self) -> pl.DataFrame:
        """The numbers: one row per system and measure."""
        if self.comparison is not None:
            return self.comparison.to_frame()
        import polars as pl

        frames = {name: one.to_frame(level=self.config.confidence) for name, one in self.scores.items()}
        return pl.concat(f.select(pl.lit(name).alias("system"), "*") for name, f in frames.items())

    def to_csv(self) -> str:
        """The numbers."""
        return self.to_frame().write_csv()

    def to_json(self) -> str:
        """Everything, with a format version."""
        content: dict[str, Any] = {"format_version": FORMAT_VERSION}
        if self.comparison is not None:
            content["comparison"] = json.loads(self.comparison.to_json())
        else:
            content["level"] = self.config.confidence
            content["scores"] = {
                name: json.loads(one.to_json(level=self.config.confidence))
                for name, one in self.scores.items()
            }
        if self.benchmark is not None:
            content["retrievers"] = [
                {name: getattr(run, name) for name in _OF_A_RUN}
                | ({"latency": {key: getattr(run.latency, key) for key in TIMES}} if run.latency else {})
                for run in self.benchmark.results.values()
            ]
        content["gates"] = [check.to_dict() for check in self.checks]
        content["passed"] = self.passed
        return json.dumps(content, ensure_ascii=False)

    def _compared(self) -> Sequence[Table | Lines]:
        """What a comparison prints; the leaders come first."""
        from ranklens.comparison.tables import printout

        if self.comparison is None:
            return ()
        return printout(self.comparison, intervals=self._analysis.confidence_intervals).parts

    @property
    def _analysis(self) -> StatisticalAnalysis:
        return self.config.retrieval_metrics.statistical_analysis

    def printout(self) -> Printout:
        """Everything that print shows."""
        parts: list[Table | Lines] = [Lines(line, ()) for line in self.outcome.stored]
        parts += [self.benchmark.table()] if self.benchmark is not None else []
        parts += self._compared() if self.comparison is not None else [self.table()]
        lines = [*(wording.headline(check) for check in self.checks), *self.outcome.notes]
        results = self.benchmark.results.values() if self.benchmark is not None else ()
        stored = [f"{run.name}: {from_store(run)}." for run in results if run.all_stored]
        for place, part in enumerate(parts):
            if isinstance(part, Lines) and part.title == "Verdict":
                parts[place] = replace(part, lines=[*part.lines, *stored])
        return Printout([*parts, Lines("Gates", lines)] if lines else parts)


def from_store(result: RetrieverRun) -> str:
    """That nothing was asked, and how old the answers are."""
    age = "" if result.oldest is None else f", the oldest is {in_words(result.oldest)}"
    return f"all {counted(len(result.answers), 'answer')} come from the store{age}; --fresh asks again"
