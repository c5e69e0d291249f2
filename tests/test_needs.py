"""What tests need of the machine is looked for as they use it: a tool that is there in part is not there."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import needs
import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="tools are faked as shell scripts")
OPENJDK = 'openjdk version "17.0.9" 2023-10-17'
WHOLE = {
    "perl": "exit 0",
    "npm": "echo 10.2.4",
    "chromium": "echo Chromium 130",
    "java": f"[ $1 = -version ] && echo '{OPENJDK}' >&2 || printf 'java.management@17\\njava.naming@17\\njava.sql@17\\njdk.unsupported@17\\n'",
    "pdflatex": "exit 0",
    "kpsewhich": 'for file; do echo "/texmf/$file"; done',
}  # fmt: skip


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Puts tools, and nothing else, on a machine; says what is lacking there."""
    monkeypatch.setattr(needs, "_FONTS", (str(tmp_path / "fonts"),))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "fonts").mkdir()
    (tmp_path / "fonts" / "a.ttf").touch()

    def make(**changed):
        for name, script in {**WHOLE, **changed}.items():
            if script is not None:
                (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
                (tmp_path / name).chmod(stat.S_IRWXU)
        needs.chromium.cache_clear()
        return needs.lacking()

    yield make
    needs.chromium.cache_clear()


def test_a_whole_machine_lacks_nothing(machine):
    assert machine() == {}


@pytest.mark.parametrize(
    ("need", "changed", "why"),
    [
        ("perl", {"perl": None}, "perl is not installed"),
        ("npm", {"npm": "echo no node >&2; exit 127"}, "npm is not installed, or does not run"),
        ("browser", {"chromium": None}, "there is no Chromium or Chrome that runs"),
        ("browser", {"chromium": "echo 'snap install chromium' >&2; exit 1"}, "there is no Chromium or Chrome that runs"),
        ("java", {"java": None}, "java is not installed, or does not run"),
        ("java", {"java": "echo 'No Java runtime present' >&2; exit 1"}, "java is not installed, or does not run"),
        ("java", {"java": """echo 'openjdk version "11.0.2"'"""}, "java is not Java 17 or later"),
        ("java", {"java": f"[ $1 = -version ] && echo '{OPENJDK}' || echo java.base@17"}, "java has no java.management, java.naming, java.sql, jdk.unsupported, which Spark needs"),
        ("latex", {"pdflatex": None}, "pdflatex is not installed"),
        ("latex", {"kpsewhich": None}, "pdflatex is installed without kpsewhich"),
        ("latex", {"kpsewhich": 'for f; do [ $f = acmart.cls ] || [ $f = llncs.cls ] || echo "/x/$f"; done; exit 1'}, "pdflatex is installed without acmart.cls, llncs.cls"),
    ],
)  # fmt: skip
def test_what_is_there_in_part_is_lacking(machine, need, changed, why):
    assert machine(**changed) == {need: why}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems bring fonts")
def test_a_browser_without_fonts_is_lacking(machine, tmp_path):
    (tmp_path / "fonts" / "a.ttf").unlink()
    assert machine() == {"browser": "there is a browser but no font, so no text has a width"}


def test_tests_are_skipped_with_the_reason(machine):
    machine(pdflatex=None)
    with pytest.raises(
        pytest.skip.Exception, match=r"^pdflatex is not installed: apt install texlive-publishers$"
    ):
        needs.skip_without(needs.latex(*needs.PAPERS["acmart"]), ": apt install texlive-publishers")
    needs.skip_without(needs.perl())


def test_the_program_names_the_packages_to_install(machine):
    machine(kpsewhich="exit 1", npm=None)
    done = subprocess.run(
        [sys.executable, str(Path(needs.__file__))], capture_output=True, text=True, check=True
    )
    assert {"npm", "texlive-publishers"} <= {*done.stdout.split()}
    assert "latex: pdflatex is installed without acmart.cls" in done.stderr
