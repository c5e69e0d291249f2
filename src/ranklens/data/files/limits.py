"""How much a file may ask for before it is plainly no file of rankings or judgments; each keeps small files from filling the memory."""

from __future__ import annotations

LONGEST_LINE = 1 << 24  # bytes; what has no end of line for that long is no text
SEARCHED = 1 << 22  # bytes of empty lines and comments before the first line of data
UNPACKED = 1 << 28  # bytes that an archive of JSON, which has to be read as a whole, may hold
KEYS = 1000  # different keys in rows of JSONL that are converted: each becomes a column of all rows
MODEST = 1 << 25  # bytes that any archive may hold, however small it is
PIPED = 1 << 33  # bytes of standard input or a pipe, which are copied to a temporary file
RATIO = 100  # bytes that one packed byte may stand for in a larger one: text packs to a twentieth
HELD = 1 << 24  # bytes of a file whose content is kept for a second look
