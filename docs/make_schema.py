"""Writes what the schema of comparisons in JSON says of settings, from the settings themselves. Run by scripts/docs; a test keeps it up to date."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

from ranklens.comparison.settings import CHOICES, Settings

PAGE = Path(__file__).parents[1] / "src" / "ranklens" / "comparison" / "comparison.schema.json"


def page() -> str:
    """The whole schema as text; all but the names and choices of settings stays as it is."""
    schema = json.loads(PAGE.read_text(encoding="utf-8"))
    settings = schema["properties"]["settings"]
    settings["required"] = [one.name for one in fields(Settings)]
    for name in settings["required"]:
        described = settings["properties"].setdefault(name, {})
        if name in CHOICES:
            described["enum"] = list(CHOICES[name])
    return json.dumps(schema, indent=2) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
