"""What ``import ranklens`` loads and offers, and which module may import which."""

import ast
import subprocess
import sys
from pathlib import Path

import ranklens as rl
from ranklens import stats

SOURCE = Path(rl.__file__).parent
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


ALLOWED = {
    "errors": set(),
    "policy": {"errors"},
    "registry": {"errors"},
    "judged": {"errors", "policy"},
    "stats": {"errors"},
    "standing": {"errors", "judged", "policy"},
}


def test_lower_modules_do_not_import_higher_ones():
    for module, allowed in ALLOWED.items():
        files = (
            [SOURCE / f"{module}.py"]
            if (SOURCE / f"{module}.py").exists()
            else (SOURCE / module).glob("*.py")
        )
        nodes = [node for path in files for node in ast.parse(path.read_text()).body]
        at_top = [node for node in nodes if isinstance(node, ast.ImportFrom)]
        found = {
            n.module.removeprefix("ranklens.")
            for n in at_top
            if n.module and n.module.startswith("ranklens.")
        }
        assert {name for name in found if name.partition(".")[0] != module} <= allowed, module
        assert at_top, module


def test_formulas_need_numpy_only():
    for path in (SOURCE / "formulas").glob("*.py"):
        tree = ast.parse(path.read_text())
        names = {
            alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
        }
        names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        outside = {name.partition(".")[0] for name in names if name} - set(sys.stdlib_module_names)
        assert outside <= {"numpy", "ranklens"}, path.name
