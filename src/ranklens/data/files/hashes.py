"""Hashes of the files that a result was made from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ranklens.errors import warn
from ranklens.words import plural, several

_PIECE = 1 << 20  # bytes


class _Opened(NamedTuple):
    """A file as it was when it was opened."""

    path: Path
    size: int
    modified: int  # nanoseconds


@dataclass(frozen=True)
class Inputs:
    """The files that a result was made from.

    They are hashed only when the hashes are needed, so each is remembered as it was when it was opened: a file that changed since
    then has no hash, because the new one would belong to other data.
    """

    opened: Mapping[str, _Opened] = field(default_factory=dict)  # by path as given
    known: Mapping[str, str | None] = field(default_factory=dict)  # hashes that were read with the result

    @classmethod
    def of(cls, sources: Iterable[object]) -> Inputs:
        """The files of this machine among the sources, before they are read; folders, addresses, pipes and data in memory have no hash."""
        opened = {}
        for source in sources:
            if not isinstance(source, (str, os.PathLike)):
                continue
            try:
                path = Path(os.path.abspath(source))
                if path.is_file():
                    status = path.stat()
                    opened[os.fspath(source)] = _Opened(path, status.st_size, status.st_mtime_ns)
            except (OSError, ValueError):  # gone, too long for a name, or not a name at all
                continue
        return cls(opened) if opened else NO_INPUTS

    @classmethod
    def merged(cls, parts: Iterable[Inputs]) -> Inputs:
        """All of them; of a file that was opened twice, the first."""
        opened: dict[str, _Opened] = {}
        known: dict[str, str | None] = {}
        for part in parts:
            for path, file in part.opened.items():
                opened.setdefault(path, file)
            for path, digest in part.known.items():
                known.setdefault(path, digest)
        return cls(opened, known)

    def hashes(self) -> dict[str, str | None]:
        """The SHA-256 of each file by its path; None, with a warning, if it changed or vanished after it was opened."""
        digests = {**self.known, **{path: _hash(file) for path, file in self.opened.items()}}
        if changed := [path for path in self.opened if digests[path] is None]:
            warn(
                f"{several(changed)} {plural(len(changed), 'has', 'have')} changed since {plural(len(changed), 'it was', 'they were')} "
                "read, so the JSON has no hash for that. Evaluate again to get one."
            )
        return digests


NO_INPUTS = Inputs()


@lru_cache(maxsize=1024)  # several runs share their judgments
def _hash(file: _Opened) -> str | None:
    import hashlib  # slow to load

    digest = hashlib.sha256()
    try:
        with file.path.open("rb") as stream:
            if not _is_as_opened(stream.fileno(), file):
                return None
            while piece := stream.read(_PIECE):
                digest.update(piece)
            return digest.hexdigest() if _is_as_opened(stream.fileno(), file) else None
    except OSError:
        return None


def _is_as_opened(descriptor: int, file: _Opened) -> bool:
    status = os.fstat(descriptor)
    return (status.st_size, status.st_mtime_ns) == (file.size, file.modified)
