"""Charts as a notebook shows them: with all that they need, so that they can be seen offline and in an exported page.

Altair's own way is a page that fetches its scripts from the network. These charts give a picture (SVG) and, for notebooks that
draw Vega-Lite themselves (JupyterLab, VS Code), the specification. Imported on use, as it needs Altair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from ranklens.errors import InputError
from ranklens.report.charts import style
from ranklens.report.charts.figures import Figure, drawn_as

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from altair.utils.display import MimeBundleType

    from ranklens.report.charts.style import Chart


class _SelfContained(alt.TopLevelMixin):
    """A chart's own bundle in place of Altair's default; a renderer that was chosen (``alt.renderers.enable``) stays."""

    def _repr_mimebundle_(self, *args: object, **kwargs: object) -> MimeBundleType | None:
        if alt.renderers.active != "default":
            return super()._repr_mimebundle_(*args, **kwargs)
        version = alt.SCHEMA_VERSION.lstrip("v").partition(".")[0]
        return {
            f"application/vnd.vegalite.v{version}+json": self.to_dict(),
            "image/svg+xml": style.rendered(self, "svg").decode(),
            "text/plain": f"<{type(self).__name__}: {style.title_of(self)}>",
        }

    def figure(
        self,
        width: str | float | None = "column",
        *,
        title: bool = False,
        systems: Sequence[str] | None = None,
        highlight: str | Sequence[str] | None = None,
    ) -> Chart:
        """The chart as a figure of a paper, ``"column"`` or ``"text"`` wide, or as many points.

        ``systems`` draws some only; those in ``highlight`` stand out, and the others are grey.
        """
        again: Callable[[], Chart] | None = self.__dict__.get("_again")
        if again is None:
            raise InputError("This chart was changed after it was drawn; call figure() first.")
        with drawn_as(Figure.checked(width, title, systems, highlight)):
            return again()


class SingleChart(_SelfContained, alt.Chart):
    """One layer."""


class LayerChart(_SelfContained, alt.LayerChart):
    """Layers over each other."""


class FacetChart(_SelfContained, alt.FacetChart):
    """Small multiples."""


_KINDS: dict[type, type] = {alt.Chart: SingleChart, alt.LayerChart: LayerChart, alt.FacetChart: FacetChart}


def repeatable(chart: Chart, again: Callable[[], Chart]) -> Chart:
    """The chart with what draws it again, for :meth:`_SelfContained.figure`."""
    object.__setattr__(chart, "_again", again)
    return chart


def self_contained(chart: Chart) -> Chart:
    """The same chart, shown without the network."""
    object.__setattr__(chart, "__class__", _KINDS[type(chart)])  # what a plain assignment sets, Altair draws
    return chart
