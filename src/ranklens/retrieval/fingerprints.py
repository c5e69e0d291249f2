"""What a retriever's answers depend on, as far as it can be seen: code, arguments and versions → one digest.

Seen are the source of the callable, of every local module that it imports, directly or not, the values of its partial
arguments and attributes, and the versions of installed packages that it belongs to. Not seen are remote services, files
that it reads, and what hides inside of compiled objects: their answers are trusted by age alone.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

_DEEPEST = 6  # values inside of values; deeper ones are not looked at
_LARGEST = 1_000  # entries of one container that are looked at

_Container: TypeAlias = "Mapping[object, object] | Sequence[object] | AbstractSet[object]"


@dataclass
class _Seen:
    """What was hashed so far; each piece once."""

    digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    files: set[Path] = field(default_factory=set)
    # Kept, because a freed object's id is given to another.
    objects: dict[int, object] = field(default_factory=dict)

    def add(self, *parts: object) -> None:
        for part in parts:
            text = str(part).encode("utf-8", "surrogatepass")
            self.digest.update(b"%d:" % len(text) + text)


def fingerprint(retriever: object) -> str:
    """A digest that changes when the code, the arguments or the settings of a retriever change.

    >>> from functools import partial
    >>> def search(text, k, boost=1.0): return []
    >>> fingerprint(search) == fingerprint(search)
    True
    >>> fingerprint(partial(search, boost=2.0)) == fingerprint(partial(search, boost=3.0))
    False
    """
    seen = _Seen()
    _look_at(retriever, seen, 0)
    return str(seen.digest.hexdigest())


def _look_at(value: object, seen: _Seen, depth: int) -> None:
    """Hash a value: code by its source, plain data by content, everything else by its type and attributes."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, Path)):
        seen.add(type(value).__name__, repr(value))
        return
    if depth > _DEEPEST or id(value) in seen.objects:
        seen.add("again", type(value).__qualname__)
        return
    seen.objects[id(value)] = value
    if isinstance(value, functools.partial):
        for part in (value.func, value.args, value.keywords):
            _look_at(part, seen, depth + 1)
    elif isinstance(value, types.MethodType):
        _look_at(value.__func__, seen, depth + 1)
        _look_at(value.__self__, seen, depth + 1)
    elif isinstance(value, types.FunctionType):
        _look_at_function(value, seen, depth)
    elif isinstance(value, types.ModuleType):
        _look_at_module(value.__name__, seen)
    elif isinstance(value, type):
        _look_at_class(value, seen, depth)
    elif isinstance(value, (Mapping, Sequence, AbstractSet)):
        _look_at_container(value, seen, depth)
    else:
        _look_at_object(value, seen, depth)


def _look_at_container(value: _Container, seen: _Seen, depth: int) -> None:
    seen.add(type(value).__name__, len(value))
    entries: Iterable[object] = value.items() if isinstance(value, Mapping) else value
    if isinstance(value, AbstractSet):
        entries = sorted(entries, key=repr)
    for number, entry in enumerate(entries):
        if number == _LARGEST:
            break
        _look_at(entry, seen, depth + 1)


def _look_at_function(function: types.FunctionType, seen: _Seen, depth: int) -> None:
    seen.add(function.__module__, function.__qualname__)
    if not _look_at_module(function.__module__, seen):
        _look_at_code(function, seen, depth)
    for value in (function.__defaults__, function.__kwdefaults__):
        _look_at(value, seen, depth + 1)
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # not filled yet
            _look_at(cell.cell_contents, seen, depth + 1)


def _look_at_code(function: types.FunctionType, seen: _Seen, depth: int) -> None:
    """A function without a file, as in a notebook: its code, and the functions and values that it names."""
    for code in _codes(function.__code__):
        constants = [repr(c) for c in code.co_consts if not isinstance(c, types.CodeType)]
        seen.add(code.co_code.hex(), constants, code.co_names)
        for name in code.co_names:
            if name in function.__globals__:
                _look_at(function.__globals__[name], seen, depth + 1)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _codes(inner)


def _look_at_class(cls: type, seen: _Seen, depth: int) -> None:
    for base in cls.__mro__[:-1]:
        seen.add(base.__module__, base.__qualname__)
        if not _look_at_module(base.__module__, seen):
            for name, member in sorted(vars(base).items()):
                if isinstance(member, types.FunctionType):
                    seen.add(name)
                    _look_at(member, seen, depth + 1)


def _look_at_object(value: object, seen: _Seen, depth: int) -> None:
    """All attributes of the user's own objects; of others only settings, because connections and caches change by themselves."""
    seen.add(getattr(value, "__qualname__", ""))
    _look_at(type(value), seen, depth + 1)
    source = getattr(sys.modules.get(type(value).__module__), "__file__", None)
    is_own = source is None or _is_local(Path(source))
    for name, attribute in sorted(getattr(value, "__dict__", {}).items()):
        if not name.startswith("__") and (is_own or _is_setting(name, attribute)):
            seen.add(name)
            _look_at(attribute, seen, depth + 1)


def _is_setting(name: str, value: object) -> bool:
    if name.startswith("_"):
        return False
    if isinstance(value, Mapping):
        return all(_is_setting("", entry) for entry in value.values())
    if isinstance(value, (list, tuple)):
        return all(_is_setting("", entry) for entry in value)
    return value is None or isinstance(value, (bool, int, float, str))


def _look_at_module(name: str, seen: _Seen) -> bool:
    """The source of a local module and of the local modules that it imports, or the version of an installed one.

    False where there is neither, as in a notebook.
    """
    module = sys.modules.get(name)
    source = getattr(module, "__file__", None)
    if module is None or source is None:
        return name in sys.builtin_module_names
    path = Path(source)
    if not _is_local(path):
        seen.add(name.partition(".")[0], _version(name.partition(".")[0]))
        return True
    if path.suffix != ".py" or not path.exists():
        return False
    _look_at_file(path, name, seen)
    return True


def _look_at_file(path: Path, name: str, seen: _Seen) -> None:
    path = path.resolve()
    if path in seen.files:
        return
    seen.files.add(path)
    content = path.read_bytes()
    seen.add(path.name, hashlib.sha256(content).hexdigest())
    for imported in _imports(content, name, is_package=path.name == "__init__.py"):
        for found in _local_files(imported, path):
            _look_at_file(found, imported, seen)


def _imports(content: bytes, name: str, *, is_package: bool) -> Iterator[str]:
    """The modules that a file names in its imports, wherever they are written; ``from a import b`` may mean ``a.b``."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, name, is_package=is_package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names if alias.name != "*")


def _absolute(node: ast.ImportFrom, name: str, *, is_package: bool) -> str:
    if node.level == 0:
        return node.module or ""
    parts = name.split(".")
    kept = parts[: len(parts) - node.level + is_package]
    return ".".join([*kept, *([node.module] if node.module else [])])


def _local_files(name: str, importer: Path) -> Iterator[Path]:
    """The file of a module and those of its packages, if they are local; nothing is imported to find out."""
    parts = name.split(".")
    roots = [importer.parent, *(Path(entry or ".") for entry in sys.path)]
    for root in dict.fromkeys(roots):
        place = root.joinpath(*parts)
        candidates = [place.with_suffix(".py"), place / "__init__.py"] if parts[0] else []
        found = [path for path in candidates if path.is_file()]
        if found and not _is_local(found[0]):
            return  # it hides whatever comes later on the path
        if found:
            packages = (root.joinpath(*parts[:n], "__init__.py") for n in range(1, len(parts)))
            yield from (path for path in packages if path.is_file())
            yield from found
            return


@functools.cache
def _installed_places() -> tuple[Path, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    places = [Path(sysconfig.get_paths()[name]).resolve() for name in names]
    return tuple(dict.fromkeys([*places, Path(__file__).resolve().parents[1]]))


def _is_local(path: Path) -> bool:
    """Whether a file is the user's own: not Python's, not an installed package's, not RankLens's."""
    path = path.resolve()
    if {"site-packages", "dist-packages"} & {*path.parts}:
        return False
    return not any(path.is_relative_to(place) for place in _installed_places())


@functools.cache
def _version(package: str) -> str:
    if package in sys.stdlib_module_names:
        return sys.version
    from importlib.metadata import PackageNotFoundError, version

    for distribution in _distributions().get(package, [package]):
        with suppress(PackageNotFoundError):
            return version(distribution)
    return ""


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    """Which distribution a module belongs to; slow, because it looks at all that is installed."""
    from importlib.metadata import packages_distributions

    return packages_distributions()
