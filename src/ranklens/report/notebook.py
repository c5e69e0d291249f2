"""Charts as a notebook shows them: with all that they need, so that they can be seen offline and in an exported page.

Altair's own way is a page that fetches its scripts from the network. These charts give a picture (SVG) and, for notebooks that
draw Vega-Lite themselves (JupyterLab, VS Code), the specification. Imported on use, as it needs Altair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from ranklens.report import drawing

if TYPE_CHECKING:
    from ranklens.report.drawing import Chart


class _SelfContained:
    """A chart's own bundle in place of Altair's default; a renderer that was chosen (``alt.renderers.enable``) stays."""

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> Any:
        if alt.renderers.active != "default":
            return super()._repr_mimebundle_(*args, **kwargs)  # type: ignore[misc]
        return bundle(self)  # type: ignore[arg-type]


class SingleChart(_SelfContained, alt.Chart):
    """One layer."""


class LayerChart(_SelfContained, alt.LayerChart):
    """Layers over each other."""


class FacetChart(_SelfContained, alt.FacetChart):
    """Small multiples."""


_KINDS: dict[type, type] = {alt.Chart: SingleChart, alt.LayerChart: LayerChart, alt.FacetChart: FacetChart}


def self_contained(chart: Chart) -> Chart:
    """The same chart, shown without the network."""
    object.__setattr__(chart, "__class__", _KINDS[type(chart)])  # what a plain assignment sets, Altair draws
    return chart


def bundle(chart: Chart) -> dict[str, Any]:
    """What a notebook can choose from, by MIME type."""
    return {
        f"application/vnd.vegalite.v{alt.SCHEMA_VERSION.lstrip('v').partition('.')[0]}+json": chart.to_dict(),
        "image/svg+xml": drawing.rendered(chart, "svg").decode(),
        "text/plain": f"<{type(chart).__name__}: {drawing.title_of(chart)}>",
    }
