"""Files and folders that are gone at the end, however the end comes.

Each is written down before it is made, so that the end of the program can remove what is left.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_places: set[Path] = set()


@contextmanager
def temporary_file(folder: Path | None = None, prefix: str = "ranklens-") -> Iterator[Path]:
    """An empty file for its owner alone, in a folder or among all temporary files.

    >>> with temporary_file() as place:
    ...     place.exists()
    True
    >>> place.exists()
    False
    """
    place = new_place(folder, prefix)
    try:
        os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        yield place
    finally:
        remove(place)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """An empty folder for its owner alone."""
    place = new_place(None)
    try:
        place.mkdir(0o700)
        yield place
    finally:
        remove(place)


def private_file() -> tuple[Path, BinaryIO]:
    """An empty file for its owner alone, open to be written: :func:`close_private` closes and removes it.

    On Linux it has no name that anyone else could open, and is gone even if the program is killed.
    """
    with suppress(AttributeError, OSError):  # elsewhere, and on some file systems
        handle = os.open(tempfile.gettempdir(), os.O_TMPFILE | os.O_RDWR, 0o600)
        place = Path(f"/proc/self/fd/{handle}")
        if place.exists():
            return place, os.fdopen(handle, "wb")
        os.close(handle)
    place = new_place(None)
    return place, os.fdopen(os.open(place, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), "wb")


def close_private(place: Path, file: BinaryIO) -> None:
    """Close such a file, which is then gone."""
    with suppress(OSError):  # a full disk, met once more
        file.close()
    if place in _places:
        remove(place)


def new_place(folder: Path | None, prefix: str = "ranklens-") -> Path:
    """The name of a file that does not exist yet, and will be removed at the end."""
    place = (folder or Path(tempfile.gettempdir())) / f"{prefix}{secrets.token_hex(6)}"
    _places.add(place)
    return place


def remove(place: Path) -> None:
    """Remove a file or folder that is no longer needed."""
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    else:
        with suppress(OSError):
            place.unlink(missing_ok=True)
    _places.discard(place)


def remove_all() -> None:
    """Remove what is left, at the end of a program or where it is stopped."""
    for place in [*_places]:
        remove(place)
