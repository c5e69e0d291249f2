"""Where a result comes from: the versions of what computed it, and the commit that was checked out."""

from __future__ import annotations

import platform
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ranklens import __version__

_PACKAGES = ("numpy", "polars", "scipy")
_PATIENCE = 5.0  # seconds for git


@dataclass(frozen=True)
class Origin:
    """The commit (None outside of a repository), whether files differed from it, and versions by name."""

    commit: str | None
    dirty: bool
    versions: dict[str, str]


def origin(folder: Path | None = None) -> Origin:
    """What is known here and now.

    >>> "ranklens" in origin().versions
    True
    """
    place = folder or Path.cwd()
    commit = _git(place, "rev-parse", "HEAD")
    dirty = commit is not None and bool(_git(place, "status", "--porcelain", "--untracked-files=no"))
    return Origin(commit, dirty, versions())


def versions() -> dict[str, str]:
    """Of RankLens, Python and the packages that compute."""
    return {"ranklens": __version__, "python": platform.python_version(), **_installed()}


def _installed() -> dict[str, str]:
    found = {name: _version_of(name) for name in _PACKAGES}
    return {name: known for name, known in found.items() if known}


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def project_folder(start: Path | None = None) -> Path:
    """The folder of the repository around ``start`` (the current folder), else ``start`` itself."""
    here = (start or Path.cwd()).resolve()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def _git(folder: Path, *arguments: str) -> str | None:
    program = shutil.which("git")
    if program is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603  fixed arguments
            [program, "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
