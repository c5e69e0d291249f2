"""Documentation that is run: code blocks are executed, printed tables compared, generated pages kept up to date."""

import contextlib
import importlib.util
import io
import re
import textwrap
from pathlib import Path

import pytest

from ranklens import registry

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)


def blocks(page):
    """Language and code of each block, also of those inside lists."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [(language, textwrap.dedent(code)) for _, language, code in found]


@pytest.fixture(autouse=True)
def the_registry_stays_as_it_is(monkeypatch):
    """Pages may define measures."""
    monkeypatch.setattr(registry, "_DEFINITIONS", dict(registry.definitions()))
    registry._spellings.cache_clear()
    yield
    registry._spellings.cache_clear()


@pytest.mark.parametrize(
    "page", [p for p in PAGES if any(b[0] == "python" for b in blocks(p))], ids=lambda p: p.name
)
def test_python_blocks_run_in_order(page):
    """A block without a language that follows one that prints must show what it prints."""
    names, printed = {"__name__": "docs"}, ""
    for language, code in blocks(page):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(code, str(page), "exec", dont_inherit=True), names)
            printed = out.getvalue()
        elif language == "" and printed:
            assert code == printed
            printed = ""


def test_the_page_of_measures_is_up_to_date():
    spec = importlib.util.spec_from_file_location("make_measures", ROOT / "docs" / "make_measures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "run scripts/docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_example_runs(capsys):
    spec = importlib.util.spec_from_file_location(
        "first_evaluation", ROOT / "examples" / "first_evaluation.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main()
    assert "ties=average" in capsys.readouterr().out
