"""What is published: a source archive, and a wheel built from it that holds what runs and nothing else."""

import configparser
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

import ranklens as rl

for tool in ("build", "hatchling", "twine"):
    pytest.importorskip(tool, reason=f"{tool} is not installed; scripts/test --all installs it")
pytestmark = pytest.mark.slow

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
SOURCE = ROOT / "src"
DATA = {
    "py.typed",
    "queries.txt",
    "report.html",
    "report.css",
    "comparison.schema.json",
    "scores.schema.json",
    "example.yaml",
}
NAME = f"ranklens-{rl.__version__}"


def python(*arguments, **options):
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with both archives, built with what is installed, so without a network."""
    folder = tmp_path_factory.mktemp("built")
    python("-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    return zipfile.ZipFile(built / f"{NAME}-py3-none-any.whl")


def test_an_archive_and_a_wheel_are_built_and_their_metadata_is_sound(built):
    archives = sorted(built.glob("ranklens*"))
    assert [path.name for path in archives] == [f"{NAME}-py3-none-any.whl", f"{NAME}.tar.gz"]
    python("-m", "twine", "--no-color", "check", "--strict", *archives)


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = {name for name in wheel.namelist() if not name.endswith("/")}
    assert {name.partition("/")[0] for name in names} == {"ranklens", f"{NAME}.dist-info"}
    packaged = {name for name in names if name.startswith("ranklens/")}
    written = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.glob("ranklens/**/*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packaged == written
    kinds = {Path(name).suffix for name in packaged}
    assert kinds == {".py", ".typed", ".txt", ".html", ".css", ".js", ".json", ".yaml"}
    odd = re.compile(r"(^|/)(tests?|make_\w*\.py|test_\w*\.py|conftest\.py|.*\.py[cod])(/|$)")
    assert [name for name in packaged if odd.search(name)] == []
    assert {Path(name).name for name in packaged} >= DATA


def test_the_metadata(wheel):
    described = message_from_string(wheel.read(f"{NAME}.dist-info/METADATA").decode())
    assert described["Name"] == "ranklens"
    assert described["Version"] == rl.__version__
    assert described["Requires-Python"] == ">=3.10"
    links = dict(link.split(", ") for link in described.get_all("Project-URL"))
    assert {*links} == {"Homepage", "Documentation", "Issues", "Changelog"}
    assert all(link.startswith("https://github.com/ranklens/ranklens") for link in links.values())
    points = configparser.ConfigParser()
    points.read_string(wheel.read(f"{NAME}.dist-info/entry_points.txt").decode())
    assert {*points["console_scripts"]} == {"ranklens", "ranklens-trec-eval"}


def test_the_version_is_written_once():
    """Everything else asks ``ranklens.__version__``."""
    places = [ROOT / "pyproject.toml", *SOURCE.glob("ranklens/**/*.py")]
    found = [path for path in places if f'"{rl.__version__}"' in path.read_text(encoding="utf-8")]
    assert found == [SOURCE / "ranklens" / "__init__.py"]
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_source_archive_can_test_itself(built):
    with tarfile.open(built / f"{NAME}.tar.gz") as archive:
        names = archive.getnames()
    top = {Path(name).parts[1] for name in names}
    assert top >= {"src", "tests", "docs", "examples", "scripts", "pyproject.toml", "README.md", "LICENSE"}
    assert [name for name in names if ".venv" in name or "__pycache__" in name] == []


def test_what_was_built_runs_where_nothing_of_the_repository_is(wheel, tmp_path):
    """Its commands start, and the data that they read came along."""
    site, work = tmp_path / "site", tmp_path / "work"
    wheel.extractall(site)
    work.mkdir()
    code = """
import sys
from importlib.metadata import distribution
import ranklens
folder, *sys.argv[1:] = sys.argv[1:]
assert ranklens.__file__.startswith(folder), ranklens.__file__
sys.exit(distribution("ranklens").entry_points["ranklens"].load()())
"""

    def ranklens(*arguments):
        return python("-c", code, site, *arguments, cwd=work, env={**os.environ, "PYTHONPATH": str(site)})

    assert ranklens("--version") == f"ranklens {rl.__version__}\n"
    ranklens("bench", "--init", "bench.yaml")
    assert (work / "bench.yaml").stat().st_size > 1000
    ranklens("demo")
    ranklens("demo", "--full", "-o", "report.html")
    assert (work / "report.html").stat().st_size > 100_000
