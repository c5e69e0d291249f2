"""Python's ``logging``, for services: warnings and progress go to the logger ``ranklens`` where somebody listens to it."""

from __future__ import annotations

import sys
from typing import Any

NAME = "ranklens"


def log(text: str, level: str, **facts: Any) -> bool:
    """Whether the logger ``ranklens`` took the line; ``facts`` become attributes of the record.

    Without a handler nobody listens, and without ``logging`` in memory there is none, so it is not loaded here.
    """
    logging = sys.modules.get("logging")
    if logging is None:
        return False
    logger = logging.getLogger(NAME)
    number = logging.getLevelName(level)
    if not logger.hasHandlers() or not logger.isEnabledFor(number):
        return False
    logger.log(number, text, extra=facts)
    return True
