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
from itertools import islice
from pathlib import Path

_DEEPEST = 6  # values inside of values; deeper ones are not looked at
_LARGEST = 1_000  # entries of one container that are looked at


def fingerprint(retriever: object) -> str:
    """A digest that changes when the code, the arguments or the settings of a retriever change.

    >>> from functools import partial
    >>> def search(text, k, boost=1.0): return []
    >>> fingerprint(search) == fingerprint(search)
    True
    >>> fingerprint(partial(search, boost=2.0)) == fingerprint(partial(search, boost=3.0))
    False
    """
    look = _Look()
    look.at(retriever, 0)
    return look.digest.hexdigest()


@dataclass
class _Look:
    """Hashes values and what they depend on; each piece once."""

    digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    files: set[Path] = field(default_factory=set)
    # The objects themselves, because a freed object's id is given to another.
    objects: dict[int, object] = field(default_factory=dict)

    def add(self, *parts: object) -> None:
        for part in parts:
            text = str(part).encode("utf-8", "surrogatepass")
            self.digest.update(b"%d:" % len(text) + text)

    def at(self, value: object, depth: int) -> None:
        """Hash a value: code by its source, plain data by content, everything else by its type and attributes."""
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes, Path)):
            self.add(type(value).__name__, repr(value))
            return
        if depth > _DEEPEST or id(value) in self.objects:
            self.add("again", type(value).__qualname__)
            return
        self.objects[id(value)] = value
        if isinstance(value, functools.partial):
            for part in (value.func, value.args, value.keywords):
                self.at(part, depth + 1)
        elif isinstance(value, types.MethodType):
            self.at(value.__func__, depth + 1)
            self.at(value.__self__, depth + 1)
        elif isinstance(value, types.FunctionType):
            self.at_function(value, depth)
        elif isinstance(value, types.ModuleType):
            self.at_module(value.__name__)
        elif isinstance(value, type):
            self.at_class(value, depth)
        elif isinstance(value, (Mapping, Sequence, AbstractSet)):
            self.add(type(value).__name__, len(value))
            entries: Iterable[object] = value.items() if isinstance(value, Mapping) else value
            for entry in islice(
                sorted(entries, key=repr) if isinstance(value, AbstractSet) else entries, _LARGEST
            ):
                self.at(entry, depth + 1)
        else:
            self.at_object(value, depth)

    def at_function(self, function: types.FunctionType, depth: int) -> None:
        """By its module; without a file, as in a notebook, by its code, and the functions and values that it names."""
        self.add(function.__module__, function.__qualname__)
        if not self.at_module(function.__module__):
            for code in _codes(function.__code__):
                constants = [repr(c) for c in code.co_consts if not isinstance(c, types.CodeType)]
                self.add(code.co_code.hex(), constants, code.co_names)
                for name in code.co_names:
                    if name in function.__globals__:
                        self.at(function.__globals__[name], depth + 1)
        for value in (function.__defaults__, function.__kwdefaults__):
            self.at(value, depth + 1)
        for cell in function.__closure__ or ():
            with suppress(ValueError):  # not filled yet
                self.at(cell.cell_contents, depth + 1)

    def at_class(self, cls: type, depth: int) -> None:
        for base in cls.__mro__[:-1]:
            self.add(base.__module__, base.__qualname__)
            if not self.at_module(base.__module__):
                for name, member in sorted(vars(base).items()):
                    if isinstance(member, types.FunctionType):
                        self.add(name)
                        self.at(member, depth + 1)

    def at_object(self, value: object, depth: int) -> None:
        """All attributes of the user's own objects; of others only settings, because connections and caches change by themselves."""
        self.add(getattr(value, "__qualname__", ""))
        self.at(type(value), depth + 1)
        source = getattr(sys.modules.get(type(value).__module__), "__file__", None)
        is_own = source is None or _is_local(Path(source))
        for name, attribute in sorted(getattr(value, "__dict__", {}).items()):
            if not name.startswith("__") and (is_own or _is_setting(name, attribute)):
                self.add(name)
                self.at(attribute, depth + 1)

    def at_module(self, name: str) -> bool:
        """The source of a local module and of the local modules that it imports, or the version of an installed one.

        False where there is neither, as in a notebook.
        """
        module = sys.modules.get(name)
        source = getattr(module, "__file__", None)
        if module is None or source is None:
            return name in sys.builtin_module_names
        path = Path(source)
        if not _is_local(path):
            self.add(name.partition(".")[0], _version(name.partition(".")[0]))
            return True
        if path.suffix != ".py" or not path.exists():
            return False
        self.at_file(path, name)
        return True

    def at_file(self, path: Path, name: str) -> None:
        path = path.resolve()
        if path in self.files:
            return
        self.files.add(path)
        content = path.read_bytes()
        self.add(path.name, hashlib.sha256(content).hexdigest())
        for imported in _imports(content, name, is_package=path.name == "__init__.py"):
            for file in _local_files(imported, path):
                self.at_file(file, imported)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _codes(inner)


def _is_setting(name: str, value: object) -> bool:
    if name.startswith("_"):
        return False
    if isinstance(value, (Mapping, list, tuple)):
        return all(_is_setting("", one) for one in (value.values() if isinstance(value, Mapping) else value))
    return value is None or isinstance(value, (bool, int, float, str))


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
            base = node.module or ""
            if node.level:  # relative to the package of the file
                parts = name.split(".")
                base = ".".join(
                    [*parts[: len(parts) - node.level + is_package], *filter(None, [node.module])]
                )
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names if alias.name != "*")


def _local_files(name: str, importer: Path) -> Iterator[Path]:
    """The file of a module and those of its packages, if they are local; nothing is imported to find out."""
    parts = name.split(".")
    roots = [importer.parent, *(Path(entry or ".") for entry in sys.path)]
    for root in dict.fromkeys(roots):
        place = root.joinpath(*parts)
        candidates = [place.with_suffix(".py"), place / "__init__.py"] if parts[0] else []
        files = [path for path in candidates if path.is_file()]
        if files:
            if _is_local(files[0]):
                packages = (root.joinpath(*parts[:n], "__init__.py") for n in range(1, len(parts)))
                yield from (path for path in packages if path.is_file())
                yield from files
            return  # the first on the path hides all others


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
