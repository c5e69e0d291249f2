"""Draws docs/images/rows.svg, rows against CPU seconds, from what the benchmark measured. Run by hand, after it has changed.

python benchmarks/rows.py --huge --json rows.json
python docs/make_speed.py rows.json
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

PICTURE = Path(__file__).parent / "images" / "rows.svg"
WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 590, 52, 345
TOOLS = {  # colours that those see who cannot tell red from green, and lines that need no colour
    "RankLens": ("#0072b2", "", 3.0),
    "Polars by hand": ("#d55e00", "7 4", 2.0),
    "DuckDB by hand": ("#6b6b6b", "2 4", 2.0),
    "parsing alone": ("#9a9a9a", "", 1.2),
}


def draw(curve: dict[int, dict[str, dict[str, float]]]) -> str:
    """Both axes are logarithmic: a line that rises evenly costs the same for every row."""
    sizes = sorted(curve)
    times = [one["cpu"] for found in curve.values() for one in found.values()]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))

    def x(rows: float) -> float:
        span = math.log10(sizes[-1]) - math.log10(sizes[0])
        return LEFT + (RIGHT - LEFT) * (math.log10(rows) - math.log10(sizes[0])) / span

    def y(seconds: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (math.log10(seconds) - low) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="Arial, Helvetica, sans-serif" font-size="13">',
        "<title>CPU seconds against rows of a Parquet run: RankLens, Polars and DuckDB by hand, and parsing alone</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="26" font-size="15" fill="#1a1a1a">nDCG@10, AP and RR of a Parquet run: CPU seconds by number of rows</text>',
    ]
    for power in range(low, high + 1):
        at = y(10.0**power)
        parts += [
            f'<path d="M{LEFT} {at:.1f}H{RIGHT}" stroke="#e2e2e2"/>',
            f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end" fill="#444444">{10.0**power:g} s</text>',
        ]
    for rows in (rows for rows in sizes if math.log10(rows).is_integer()):  # others would cover these
        parts.append(
            f'<text x="{x(rows):.1f}" y="{BOTTOM + 22}" text-anchor="middle" fill="#444444">{_size(rows)}</text>'
        )
    parts.append(
        f'<text x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 44}" text-anchor="middle" fill="#444444">rows</text>'
    )
    ends = []
    for tool, (colour, dashes, width) in TOOLS.items():
        points = [(x(rows), y(curve[rows][tool]["cpu"])) for rows in sizes if tool in curve[rows]]
        if not points:
            continue
        line = "L".join(f"{px:.1f} {py:.1f}" for px, py in points)
        parts.append(
            f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dashes}"/>'
        )
        parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>' for px, py in points]
        last = [rows for rows in sizes if tool in curve[rows]][-1]
        ends.append((points[-1][1], f"{tool}, {curve[last][tool]['cpu']:.1f} s", colour))
    above = -math.inf
    for at, text, colour in sorted(ends):
        above = max(at, above + 17)  # names do not cover each other
        parts.append(f'<text x="{RIGHT + 12}" y="{above + 4:.1f}" fill="{colour}">{text}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _size(rows: int) -> str:
    """As people write it.

    >>> _size(100_000), _size(50_000_000)
    ('100,000', '50 million')
    """
    return f"{rows // 10**6} million" if rows >= 10**6 else f"{rows:,}"


if __name__ == "__main__":
    measured = json.loads(Path(sys.argv[1]).read_text())
    PICTURE.write_text(draw({int(rows): found for rows, found in measured.items()}))
