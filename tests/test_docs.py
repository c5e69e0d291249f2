"""Documentation that is run: code blocks are executed, printed tables compared, generated pages kept up to date."""

import contextlib
import importlib.util
import io
import re
import textwrap
from pathlib import Path

import pytest
from engines import spark_or_skip

from ranklens import metrics as registry

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)


def blocks(page):
    """Language and code of each block, also of those inside lists."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [(language, textwrap.dedent(code)) for _, language, code in found]


@pytest.fixture(autouse=True)
def the_registry_stays_as_it_is():
    """Pages may define measures."""
    before = {*registry.definitions()}
    yield
    for name in {*registry.definitions()} - before:
        registry.unregister(name)


ON_SPARK = ROOT / "docs" / "scale.md"
SLOWLY = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of PySpark's sockets


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(p, id=p.name, marks=SLOWLY if p == ON_SPARK else ())
        for p in PAGES
        if any(b[0] == "python" for b in blocks(p))
    ],
)
def test_python_blocks_run_in_order(page):
    """A block without a language that follows one that prints must show what it prints."""
    if page == ON_SPARK:
        spark_or_skip()
    names, printed = {"__name__": "docs"}, ""
    for language, code in blocks(page):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(code, str(page), "exec", dont_inherit=True), names)
            printed = out.getvalue()
        elif language == "" and printed:
            assert code == printed
            printed = ""


@pytest.mark.parametrize(
    "name",
    ["make_measures", "make_cli", "make_configuration", "make_policies", "make_schema", "make_example"],
)
def test_generated_pages_are_up_to_date(name):
    module = load(ROOT / "docs" / f"{name}.py")
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "run scripts/docs"


def test_the_places_to_look_exist():
    table = (
        (ROOT / "CONTRIBUTING.md")
        .read_text(encoding="utf-8")
        .partition("## Where to look")[2]
        .partition("## ")[0]
    )
    paths = re.findall(r"`([\w/]+(?:/|\.(?:py|js|json|txt|yaml|md)))`", table)
    assert len(paths) > 40
    missing = [p for p in paths if not (ROOT / "src" / "ranklens" / p).exists() and not (ROOT / p).exists()]
    assert not missing


def test_every_page_can_be_reached():
    """From the first page and from the navigation of the site; README fits on a page."""
    docs, readme = ROOT / "docs", (ROOT / "README.md").read_text(encoding="utf-8")
    pages = {page.name for page in docs.glob("*.md")} - {"index.md"}
    index, navigation = (
        (ROOT / path).read_text(encoding="utf-8") for path in ("docs/index.md", "mkdocs.yml")
    )
    assert {page for page in pages if f"]({page})" not in index} == set()
    assert {page for page in pages if f" {page}\n" not in navigation} == set()
    assert "](docs/index.md)" in readme
    assert len(readme.split()) <= 1000
    how_to = navigation.partition("  - How-to:")[2].partition("\n  - ")[0]
    assert 8 <= how_to.count(".md") <= 12


def test_every_command_has_help_with_an_example():
    import typer.main

    from ranklens.cli.main import app

    for name, command in typer.main.get_command(app).commands.items():
        assert command.help, name
        assert "Examples" in (command.epilog or "") or name == "trec-eval", name


def test_the_example_runs(capsys):
    load(ROOT / "examples" / "first_evaluation.py").main()
    assert "ties=average" in capsys.readouterr().out


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_overview_names_every_module():
    text = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "ranklens"
    modules = {path.name for path in package.glob("*.py")} | {
        f"{path.parent.name}/" for path in package.glob("*/__init__.py")
    }
    assert {name for name in modules - {"__init__.py", "__main__.py"} if f"`{name}`" not in text} == set()


def test_configurations_of_the_page_about_gates_can_be_read():
    import yaml

    from ranklens.bench.config import load as load_config

    found = [code for language, code in blocks(ROOT / "docs" / "guard.md") if language == "yaml"]
    configurations = [content for content in map(yaml.safe_load, found) if "data" in content]
    assert len(configurations) == 2
    for content in configurations:
        assert load_config(content).gates is not None
