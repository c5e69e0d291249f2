"""Writes what the example of a configuration says of tests, corrections and options of comparisons. Run by scripts/docs; a test keeps it up to date."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ranklens.comparison.options import USUAL, CompareOptions
from ranklens.options import descriptions
from ranklens.stats.corrections import CORRECTIONS
from ranklens.stats.significance import ALL_TESTS

PAGE = Path(__file__).parents[1] / "src" / "ranklens" / "bench" / "config" / "example.yaml"
_KEYS = {"alpha": "alpha_level", "rng": "seed"}  # options that a configuration calls otherwise


def page() -> str:
    """The example as text: all names of tests and corrections, and a line for each option that has none yet."""
    text = PAGE.read_text(encoding="utf-8")
    others = ", ".join(name for name in CORRECTIONS if name != USUAL.correction)
    comments = {"test": f"{', '.join(ALL_TESTS)}; null: by measure", "correction": f"or {others}"}
    for key, comment in comments.items():
        text = re.sub(rf"(?m)^({key}: \w+ +# ).*", rf"\g<1>{comment}", text)
    for name, option in descriptions(CompareOptions).items():
        key = _KEYS.get(name, name)
        if not re.search(rf"(?m)^ *{key}: ", text):
            line = f"{key}: {json.dumps(getattr(USUAL, name))}"
            text = re.sub(
                "(?m)^seed: ", lambda seed, line=f"{line:<32}# {option.key}": f"{line}\n{seed[0]}", text
            )
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
