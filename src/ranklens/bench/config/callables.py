"""Retrievers named in a configuration as ``module:function`` → objects, or one sentence on why not."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from ranklens import words
from ranklens.errors import InputError, nearest


@contextmanager
def importable(*folders: Path) -> Iterator[None]:
    """Modules in these folders can be imported, the first folder before the others, before installed packages."""
    added = [str(folder.resolve()) for folder in folders]
    before = list(sys.path)
    sys.path[:0] = dict.fromkeys(added)
    try:
        yield
    finally:
        sys.path[:] = before


def source(name: str, folder: Path) -> Path | None:
    """The file in a folder that ``module:name`` is imported from, if it is there."""
    place = folder.joinpath(*name.partition(":")[0].split("."))
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)


def import_retriever(name: str, *, factory: bool = False, params: Mapping[str, Any] | None = None) -> Any:
    """The object that ``module:name`` stands for; called first if it is a ``factory`` or ends in ``()``.

    ``params`` are arguments of the factory, else of the function.

    >>> import_retriever("math:hypot")(3, 4)
    5.0
    >>> import_retriever("collections:deque()")
    deque([])
    """
    found = named(name)
    if factory or name.endswith("()"):
        return _made(name, found, params or {})
    if inspect.isclass(found):
        raise InputError(f"{name!r} is a class; write {name}() to create an instance.")
    if not params:
        return found
    if not inspect.isroutine(found):
        raise InputError(
            f"{name!r} is an object, so it takes no params; they are for functions and factories."
        )
    _check_params(name, found, params)
    return partial(found, **params)


def named(name: str) -> Any:
    """The function, class or object of this name, as its module defines it; a factory is not called.

    >>> named("collections:deque()")
    <class 'collections.deque'>
    """
    module_name, _, path = name.removesuffix("()").partition(":")
    found: Any = _module(module_name)
    for part in path.split("."):
        if not hasattr(found, part):
            known = [known for known in dir(found) if not known.startswith("_")]
            raise InputError(f"{name!r}: {module_name} has no {part!r}: {nearest(part, known)}")
        found = getattr(found, part)
    return found


def _check_params(name: str, function: Any, params: Mapping[str, Any]) -> None:
    try:
        known = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in functions have no signature
        return
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known):
        return
    names = [p.name for p in known if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for param in params:
        if param not in names:
            raise InputError(f"{name!r} takes no {param!r} (params): {nearest(param, names)}")


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise InputError(
                f"there is no module {error.name!r}. RankLens looked in the folder of the configuration, the "
                "current folder and the installed packages."
            ) from None
        raise InputError(f"the module {name!r} cannot be imported: {told(error)}") from None
    except (Exception, SystemExit) as error:  # noqa: BLE001  whatever a module does when it is imported
        raise InputError(f"the module {name!r} cannot be imported: {told(error)}") from None


def _made(name: str, factory: Any, params: Mapping[str, Any]) -> Any:
    if not callable(factory):
        raise InputError(f"{name!r} is {words.kind(factory)}, which cannot be called to make a retriever.")
    try:
        return factory(**params)
    except (Exception, SystemExit) as error:  # noqa: BLE001  whatever a factory does
        raise InputError(f"{name!r} did not create a retriever: {told(error)}") from None


def told(error: BaseException) -> str:
    """What went wrong, and on which line of the user's code."""
    what = "".join(traceback.format_exception_only(type(error), error)).strip().splitlines()[-1]
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "importlib" not in f.filename]
    own = [frame for frame in frames if frame.filename != __file__]
    if isinstance(error, SyntaxError) and error.filename:
        return f"{what} ({error.filename}:{error.lineno})"
    return f"{what} ({own[-1].filename}:{own[-1].lineno})" if own else what
