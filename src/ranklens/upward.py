"""What results offer that is built above them: charts, the report, trackers, other tools' files, Spark.

Rooms import downwards only. A method such as ``scores.log_to(…)`` needs a room above its own, so it comes through here, on use:
this is the one list of such methods, and the only module that knows rooms above the caller's.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing itself takes a while to import
if TYPE_CHECKING:
    from ranklens.exchange.hub import to_hub
    from ranklens.exchange.mteb import to_mteb
    from ranklens.fusion.systems import fused_run
    from ranklens.metrics import Measure
    from ranklens.report.charts import ComparisonPlots
    from ranklens.report.charts.confusion import confusion_chart
    from ranklens.report.charts.power import power_chart
    from ranklens.report.charts.style import Chart
    from ranklens.report.charts.surface import surface_chart
    from ranklens.report.charts.trend import trend_chart
    from ranklens.report.explanation.evidence import Looked
    from ranklens.report.explanation.failing import Failing, failing
    from ranklens.report.html import write_report
    from ranklens.report.trackers.destinations import log_to
    from ranklens.scores import Scores
    from ranklens.scores.evaluation import score
    from ranklens.spark.comparing import compare_large, is_large, runs_of
    from ranklens.spark.evaluation import evaluate as evaluate_on_spark

_HOME = {  # names for annotations alone are not here
    "ComparisonPlots": "report.charts",
    "Looked": "report.explanation.evidence",
    "compare_large": "spark.comparing",
    "confusion_chart": "report.charts.confusion",
    "evaluate_on_spark": "spark.evaluation:evaluate",
    "failing": "report.explanation.failing",
    "fused_run": "fusion.systems",
    "is_large": "spark.comparing",
    "log_to": "report.trackers.destinations",
    "power_chart": "report.charts.power",
    "runs_of": "spark.comparing",
    "score": "scores.evaluation",
    "surface_chart": "report.charts.surface",
    "to_hub": "exchange.hub",
    "to_mteb": "exchange.mteb",
    "trend_chart": "report.charts.trend",
    "write_report": "report.html",
}

__all__ = [
    "Chart",
    "ComparisonPlots",
    "Failing",
    "Looked",
    "Measure",
    "Scores",
    "compare_large",
    "confusion_chart",
    "evaluate_on_spark",
    "failing",
    "fused_run",
    "is_large",
    "log_to",
    "power_chart",
    "runs_of",
    "score",
    "surface_chart",
    "to_hub",
    "to_mteb",
    "trend_chart",
    "write_report",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'ranklens.upward' has no attribute {name!r}")
    from importlib import import_module

    module, _, attribute = _HOME[name].partition(":")
    value: object = getattr(import_module(f"ranklens.{module}"), attribute or name)
    globals()[name] = value
    return value
