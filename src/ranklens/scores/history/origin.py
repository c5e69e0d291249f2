"""Where a result comes from: the versions of what computed it, and the commit that was checked out."""

from __future__ import annotations

import platform
import shutil
import subprocess
from contextlib import suppress
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
    installed = {"ranklens": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            installed[package] = version(package)
    return installed


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
