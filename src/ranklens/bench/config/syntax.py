"""Configuration files as dicts, with the line of every key; and what is wrong in them, in words."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, get_args, get_origin

from ranklens.errors import InputError, InPython, Message, Option, nearest
from ranklens.words import either

if TYPE_CHECKING:
    import yaml
    from pydantic import BaseModel, ValidationError

_MOST_VALUES = 100_000  # of a configuration; aliases count as often as they are used
KeyPath: TypeAlias = "tuple[str | int, ...]"  # ("retrievers", 1, "k")


def read(path: Path) -> tuple[dict[str, object], dict[KeyPath, int]]:
    """The content of a YAML or TOML file, and the line of each key (unknown for TOML)."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", path=str(path)) from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: {error}.", path=str(path)) from None
    except ValueError as error:  # a name with a NUL
        raise InputError(f"{str(path)!r} cannot be read: {error}.") from None
    try:
        content, lines = _read_toml(path, text) if path.suffix.lower() == ".toml" else _read_yaml(path, text)
    except RecursionError:
        raise InputError(f"{path} is nested too deeply for a configuration.", path=str(path)) from None
    if not isinstance(content, dict):
        what = "empty" if content is None else f"a {type(content).__name__}"
        raise InputError(f"{path} is {what}; 'ranklens bench --init' writes an example.")
    return content, lines


def _read_toml(path: Path, text: str) -> tuple[object, dict[KeyPath, int]]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text), {}
    except ValueError as error:  # a TOMLDecodeError, or a number of too many digits
        raise InputError(f"{path} is not valid TOML: {error}.", path=str(path)) from None


def _read_yaml(path: Path, text: str) -> tuple[object, dict[KeyPath, int]]:
    import yaml

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if node is not None:
            _refuse_endless(path, node)
        lines = dict(_lines(path, node, ())) if node is not None else {}
        return yaml.safe_load(text), lines  # safe: numbers, text, lists and dicts, never objects
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise InputError(f"{where}: not valid YAML: {getattr(error, 'problem', None) or error}.") from None
    except InputError:
        raise
    except ValueError as error:  # a date that does not exist, or a number of too many digits
        raise InputError(f"{path}: not valid YAML: {error}.", path=str(path)) from None


def _refuse_endless(path: Path, root: yaml.Node) -> None:
    """Aliases (``*name``) can make a few lines stand for billions of values, or a value contain itself."""
    sizes: dict[int, int] = {}
    within: set[int] = set()

    def size(node: yaml.Node) -> int:
        line = node.start_mark.line + 1
        if id(node) in within:
            raise InputError(f"{path}:{line}: a value contains itself.", path=str(path), line=line)
        if id(node) not in sizes:
            within.add(id(node))
            inside = node.value if isinstance(node.value, list) else ()
            parts = (part for entry in inside for part in (entry if isinstance(entry, tuple) else (entry,)))
            sizes[id(node)] = 1 + sum(map(size, parts))
            within.remove(id(node))
        if sizes[id(node)] > _MOST_VALUES:
            raise InputError(
                f"{path}:{line}: with its aliases written out, this has more than {_MOST_VALUES:,} values.",
                path=str(path),
                line=line,
            )
        return sizes[id(node)]

    size(root)


def _lines(path: Path, node: yaml.Node, at: KeyPath) -> Iterator[tuple[KeyPath, int]]:
    import yaml

    yield at, node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield from _lines(path, item, (*at, number))
    elif isinstance(node, yaml.MappingNode):
        seen: dict[object, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            here = (*at, str(key.value))
            if here[-1] in seen:
                raise InputError(f"{path}:{line}: {spell(here)} is already set on line {seen[here[-1]]}.")
            seen[here[-1]] = line
            yield from _lines(path, value, here)
            yield here, line  # after the value's own, so that the key's line stays


def spell(at: KeyPath) -> str:
    """A key as people write it.

    >>> spell(("retrievers", 1, "k"))
    'retrievers[1].k'
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in at).lstrip(".")


def as_key(part: Option | InPython) -> str:
    """How a configuration spells what Python gives as an argument.

    >>> as_key(Option("ties", "ascending", "input"))
    'ties: ascending or input'
    """
    if isinstance(part, InPython):
        return part.key or part.command
    values = either([str(value) for value in part.values])
    return f"{part.name}: {values}" if values else part.name


def tell(
    error: ValidationError, model: type[BaseModel], path: Path | None, lines: Mapping[KeyPath, int]
) -> InputError:
    """Everything that is wrong, one line each: where, what was given, what is allowed."""
    by_line: set[tuple[int, str]] = set()
    for detail in error.errors():
        own = (detail.get("ctx") or {}).get("error")
        at: KeyPath = (*(part for part in detail["loc"] if part != "[key]"), *getattr(own, "key", ()))
        line = next((lines[at[:n]] for n in range(len(at), 0, -1) if at[:n] in lines), None)
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        described = description_of(at, model)
        if detail["type"] == "extra_forbidden":
            wrong = f"unknown key: {nearest(str(at[-1]), keys_of(model_at(at[:-1], model)))}"
        elif detail["type"] == "missing":
            wrong = f"is missing. {described}"
        elif own is not None:
            wrong = own.spelled(as_key) if isinstance(own, Message) else str(own)
        else:
            keys = f" Its keys are {', '.join(keys_of(model_at(at, model)))}."
            described += keys if detail["type"] == "model_type" else ""
            wrong = f"{shown(detail['input'])} is not allowed. {described}"
        by_line.add((line or 0, f"{where}{spell(at)}: {wrong}"))
    sentences = [part for _, sentence in sorted(by_line) for part in ("\n", sentence)][1:]
    return InputError(*sentences, path=None if path is None else str(path), line=min(by_line)[0] or None)


def shown(value: object) -> str:
    """The beginning of a value, even of one that Python does not print.

    >>> shown("x" * 100)[:3], shown(16 ** 5000)
    ("'xx", 'a number of more than 4,300 digits')
    """
    try:
        return f"{value!r:.60}"
    except ValueError:
        return "a number of more than 4,300 digits"


def keys_of(model: type[BaseModel] | None) -> list[str]:
    """The keys as they are written in a file."""
    return [field.alias or name for name, field in model.model_fields.items()] if model else []


def model_at(at: KeyPath, model: type[BaseModel]) -> type[BaseModel] | None:
    """The model that describes the value at a path; None if the value has no keys."""
    from pydantic import BaseModel

    inner = model
    for part in at:
        if isinstance(part, int):
            continue
        field = next((f for name, f in inner.model_fields.items() if (f.alias or name) == part), None)
        for kind in [field.annotation, *get_args(field.annotation)] if field else ():
            if isinstance(kind, type) and not get_origin(kind) and issubclass(kind, BaseModel):
                inner = kind
                break
        else:
            return None
    return inner


def description_of(at: KeyPath, model: type[BaseModel]) -> str:
    """What the model says about the last named key of a path."""
    names = [n for n, part in enumerate(at) if isinstance(part, str)]
    for n in reversed(names):
        parent = model_at(at[:n], model)
        for name, field in parent.model_fields.items() if parent else ():
            if (field.alias or name) == at[n]:
                return field.description or ""
    return ""
