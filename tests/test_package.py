"""What ``import ranklens`` loads and offers, and which room may import which."""

import ast
import re
import subprocess
import sys
from pathlib import Path

from walk import walk

import ranklens as rl
from ranklens import stats, upward

SOURCE = Path(rl.__file__).parent
ROOT = Path(__file__).parent.parent
HEAVY = {"numpy", "polars", "scipy", "pandas", "pyarrow", "altair", "rich", "typer", "pydantic", "jinja2"}


def loaded_after(statement):
    code = f"import sys; {statement}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
    )


def test_import_loads_nothing_heavy():
    assert not loaded_after("import ranklens") & HEAVY


def test_dicts_need_neither_polars_nor_scipy():
    loaded = loaded_after("import ranklens; ranklens.evaluate({'q': {'a'}}, {'q': ['a']}, 'rag').mean")
    assert "numpy" in loaded
    assert not loaded & {"polars", "scipy", "pandas", "pyarrow"}


def test_a_measure_inside_another_needs_nothing_loaded_before():
    assert "numpy" in loaded_after("import ranklens; ranklens.measure('IA(nDCG@10)')")


def test_every_name_of_statistics_is_there():
    assert {*stats.__all__} == {*stats._WHERE}
    for name in stats.__all__:
        assert getattr(stats, name) is not None


def test_every_public_name_is_there():
    assert rl.__all__ == sorted(rl._WHERE)
    for name in rl.__all__:
        assert getattr(rl, name) is not None
    assert dir(rl) == sorted([*rl.__all__, "__version__"])


def test_the_names_for_type_checkers_are_the_same():
    """``__init__`` says twice where names come from: for mypy, and for lazy import."""
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    imports = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ranklens.")
    ]
    typed = {
        alias.asname or alias.name: (node.module, alias.name) for node in imports for alias in node.names
    }
    assert typed == {
        name: (f"ranklens.{module}", attribute) for name, (module, attribute) in rl._WHERE.items()
    }


# From the ground up: a room imports only from floors below its own. docs/how-it-works.md draws it.
FLOORS = [
    {"words", "arrays", "options", "redaction", "start", "upward"},
    {"errors"},
    {"progress", "tables"},
    {"policy", "stats"},
    {"data"},
    {"judging", "process"},
    {"metrics"},
    {"scores"},
    {"comparison", "recipes"},
    {"assessment"},
    {"retrieval"},
    {"fusion"},
    {"report"},
    {"guard", "models", "spark", "exchange"},
    {"bench"},
    {"cli"},
]
# Names that users import; each is a room's own, so a module of the same name only passes them on.
DOORS = {"config", "matching", "pipeline", "pytrec_eval", "recommend", "registry", "training"}
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


def room(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def rooms_imported(path):
    """The rooms that a module imports, wherever the import is written and whatever it is for."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            first, _, rest = (node.module or "").partition(".")
            if first == "ranklens":
                yield from [rest.partition(".")[0]] if rest else [alias.name for alias in node.names]
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
            yield from [parts[1] for parts in names if parts[0] == "ranklens" and len(parts) > 1]


MODULES = [
    path
    for path in SOURCE.rglob("*.py")
    if path.parent != SOURCE or not path.name.startswith("__")
    if room(path) not in DOORS
]


def test_every_room_has_its_floor():
    assert {room(path) for path in MODULES} == set(FLOOR)
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert len(packages) <= 18
    assert len(set(FLOOR) - packages) <= 10


def test_doors_only_pass_names_on():
    for name in DOORS:
        tree = ast.parse((SOURCE / f"{name}.py").read_text(encoding="utf-8"))
        assert [type(node) for node in tree.body[1:]] == [ast.ImportFrom] * (len(tree.body) - 1), name


def test_doors_are_attributes_of_the_package():
    doors = "; ".join(f"ranklens.{name}.__all__" for name in sorted(DOORS))
    assert "numpy" in loaded_after(f"import ranklens; {doors}")


def test_imports_point_down():
    upward = {
        (room(path), imported)
        for path in MODULES
        if room(path) != "upward"  # which exists to name what is above
        for imported in {*rooms_imported(path)} - {room(path), "__version__"}
        if FLOOR[imported] >= FLOOR[room(path)]
    }
    assert not upward


def test_the_names_of_upward_for_type_checkers_are_the_same():
    tree = ast.parse((SOURCE / "upward.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 0]
    typed = {
        alias.asname or alias.name: f"{node.module}:{alias.name}"
        for node in imports
        if (node.module or "").startswith("ranklens.")
        for alias in node.names
    }
    assert {*typed} == {*upward.__all__}
    for name, place in upward._HOME.items():
        module, _, attribute = place.partition(":")
        assert typed[name] == f"ranklens.{module}:{attribute or name}"
        assert callable(getattr(upward, name))


def test_every_package_says_what_it_is_for():
    for path in SOURCE.glob("*/__init__.py"):
        lines = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()
        assert 2 <= len([line for line in lines if line]) <= 12, path.parent.name


def test_formulas_need_numpy_only():
    for path in [*(SOURCE / "metrics" / "formulas").glob("*.py")]:
        tree = ast.parse(path.read_text())
        names = {
            alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
        }
        names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        outside = {name.partition(".")[0] for name in names if name} - set(sys.stdlib_module_names)
        assert outside <= {"numpy", "ranklens"}, path.name


def test_the_walk_of_a_document_is_short(tmp_path):
    """``python tests/walk.py`` prints it."""
    seen = walk(tmp_path)
    assert len(seen.hops) <= 40
    assert seen.modules(seen.hops) <= 21


def test_version_citation_and_release_notes_agree():
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    latest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert rl.__version__ == cited[1] == latest[1]
