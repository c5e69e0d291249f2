"""What tests need of the machine beyond Python packages, and what of it is missing.

Tests that need something of it skip with its reason. Run as a program, this prints the packages of Debian and Ubuntu that bring what is
missing, which ``.ci/run`` installs. A tool may be there in part, so what tests use of it is looked for: classes of LaTeX, fonts, modules of Java.
"""

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PAPERS = {  # what each class of papers needs beside itself
    "acmart": ("acmart.cls", "hyperxmp.sty", "totpages.sty", "manyfoot.sty", "booktabs.sty"),
    "llncs": ("llncs.cls", "booktabs.sty"),
    "article": ("article.cls", "booktabs.sty"),
    "formulas": ("article.cls", "amsmath.sty", "geometry.sty"),
}
JAVA = 17  # the oldest that Spark 4 runs on
MODULES = {
    "java.management",
    "java.naming",
    "java.sql",
    "jdk.unsupported",
}  # which Spark loads when it starts
_FONTS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.fonts", "~/.local/share/fonts")
_PACKAGES = {
    "perl": ["perl"],
    "browser": ["chromium", "fonts-liberation"],
    "npm": ["npm"],
    "java": ["default-jre-headless"],
    "latex": ["texlive-latex-recommended", "texlive-latex-extra", "texlive-publishers"],  # 0.5 GB, up to 3 minutes
}  # fmt: skip


def perl():
    """Why gdeval cannot run; None if it can."""
    return None if shutil.which("perl") else "perl is not installed"


def npm():
    """Why axe-core cannot be fetched; None if it can."""
    return None if _answers("npm", "--version") else "npm is not installed, or does not run"


def latex(*files):
    """Why documents that use these files cannot be set; None if they can."""
    if not shutil.which("pdflatex"):
        return "pdflatex is not installed"
    if not shutil.which("kpsewhich"):
        return "pdflatex is installed without kpsewhich"
    found = {Path(line).name for line in (_answers("kpsewhich", *files) or "").splitlines()}
    lacking = [file for file in files if file not in found]
    return f"pdflatex is installed without {', '.join(lacking)}" if lacking else None


def browser():
    """Why no page can be shown; None if one can."""
    if chromium() is None:
        return "there is no Chromium or Chrome that runs"
    if sys.platform == "linux" and not _has_fonts():
        return "there is a browser but no font, so no text has a width"
    return None


@cache
def chromium():
    """The browser, if one runs; some systems have a script of that name that only asks to install it."""
    found = filter(None, map(shutil.which, BROWSERS))
    return next((place for place in found if _answers(place, "--version")), None)


def _has_fonts():
    folders = [Path(folder).expanduser() for folder in _FONTS]
    return any(file.suffix in (".ttf", ".otf", ".ttc", ".pfb") for one in folders for file in one.rglob("*"))


def java():
    """Why Spark cannot run; None if it can."""
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home, "bin", "java")) if home else "java"
    version = _answers(command, "-version")
    if version is None:
        return f"{command} is not installed, or does not run"
    number = re.search(r'version "(\d+)', version)
    if number is None or int(number[1]) < JAVA:
        return f"{command} is not Java {JAVA} or later"
    modules = {
        line.partition("@")[0].strip() for line in (_answers(command, "--list-modules") or "").splitlines()
    }
    lacking = sorted(MODULES - modules)
    return f"{command} has no {', '.join(lacking)}, which Spark needs" if lacking else None


def _answers(command, *arguments):
    """What a command prints, to whatever stream; None if it cannot be run. Without ``--version``, it may fail."""
    try:
        done = subprocess.run(
            [command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=60, check=False
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 or command == "kpsewhich" else None


def skip_without(lacking, instead=""):
    """Skip the test, with a visible note, if something is lacking."""
    import pytest  # which the program does without

    if lacking is not None:
        pytest.skip(f"{lacking}{instead}", allow_module_level=True)


def lacking():
    """Each need of all tests that is not met, and why."""
    files = dict.fromkeys(file for needed in PAPERS.values() for file in needed)
    asked = {"perl": perl(), "browser": browser(), "npm": npm(), "java": java(), "latex": latex(*files)}
    return {name: why for name, why in asked.items() if why is not None}


if __name__ == "__main__":
    for need, why in lacking().items():
        sys.stderr.write(f"{need}: {why}\n")
        sys.stdout.writelines(f"{package}\n" for package in _PACKAGES[need])
