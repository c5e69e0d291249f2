"""The examples for CI: their commands run in the guarded project, pass as it is, and fail once its retriever is broken."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = ["github.yml", "gitlab.yml", "pre-commit.yaml"]


def commands(name):
    """The calls of ranklens in an example, as arguments."""
    text = (EXAMPLES / "ci" / name).read_text(encoding="utf-8")
    yaml.safe_load(text)
    found = re.findall(r"^ *(?:- )?(?:run: |entry: )?(ranklens [^\n|]+)", text, re.MULTILINE)
    return [shlex.split(command)[1:] for command in found]


@pytest.fixture
def project(tmp_path):
    for name in ("guarded-search", "rag-logs"):
        shutil.copytree(EXAMPLES / name, tmp_path / name)
    return tmp_path / "guarded-search"


def run(project, arguments):
    return subprocess.run(
        [sys.executable, "-m", "ranklens", *arguments],
        cwd=project,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.parametrize("name", FILES)
def test_the_commands_of_examples_pass_and_fail(name, project):
    found = commands(name)
    assert found
    for arguments in found:
        passed = run(project, arguments)
        assert passed.returncode == 0, passed.stderr
    source = (project / "search.py").read_text(encoding="utf-8")
    (project / "search.py").write_text(
        source + "\n\ndef search(text, k):\n    raise RuntimeError('no index')\n", encoding="utf-8"
    )
    failed = run(project, [*found[0], "--keep-going"])
    assert failed.returncode == 1, failed.stderr
    assert "no index" in failed.stdout + failed.stderr


def test_the_comment_is_found_again_by_its_mark():
    from ranklens.guard.comment import MARK

    assert f'startswith("{MARK}")' in (EXAMPLES / "ci" / "github.yml").read_text(encoding="utf-8")
