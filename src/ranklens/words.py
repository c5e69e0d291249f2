"""Numbers and names as words: counts with their noun, lists in a sentence, shares as percentages."""

from __future__ import annotations

import math
import re
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any


def counted(number: int, one: str, many: str = "") -> str:
    """A number and what it counts; ``many`` is needed where more than the noun at the end changes.

    >>> counted(1, "query"), counted(1200, "query"), counted(2, "system")
    ('1 query', '1,200 queries', '2 systems')
    >>> counted(1, "query is", "queries are"), counted(0, "query is", "queries are")
    ('1 query is', '0 queries are')
    """
    return f"{number:,} {plural(number, one, many)}"


def plural(number: int, one: str, many: str = "") -> str:
    """The word for one, or for another number.

    >>> plural(1, "query"), plural(2, "query"), plural(2, "is", "are"), plural(3, "essay")
    ('query', 'queries', 'are', 'essays')
    """
    if number == 1:
        return one
    return many or (f"{one[:-1]}ies" if one.endswith("y") and one[-2] not in "aeiou" else f"{one}s")


def kind(value: object) -> str:
    """What something is, by its type.

    >>> kind(7), kind([]), kind(None), kind(b"")
    ('an int', 'a list', 'None', 'bytes')
    """
    name = "None" if value is None else type(value).__name__
    return name if name in ("None", "bytes") else f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def either(names: Sequence[str]) -> str:
    """Names of which one is to be chosen.

    >>> either(["zero"]), either(["zero", "skip", "error"])
    ('zero', 'zero, skip or error')
    """
    return _joined(names, "or")


def several(names: Sequence[str], most: int = 5) -> str:
    """Names in a sentence; the first few if there are many.

    >>> several(["a"]), several(["a", "b", "c"]), several(list("abcdefgh"))
    ('a', 'a, b and c', 'a, b, c, d, e and 3 more')
    """
    if len(names) > most + 1:
        return f"{', '.join(map(in_one_line, names[:most]))} and {len(names) - most:,} more"
    return _joined([*map(in_one_line, names)], "and")


def said_once(parts_of: Mapping[str, Sequence[str]], most: int = 6) -> list[str]:
    """What is said of several names, a line for those that share it; what is said of all comes first, once.

    >>> said_once({"a": ["3 queries", "ties by id"], "b": ["3 queries", "ties by id"]})
    ['3 queries; ties by id.']
    >>> said_once({"a": ["3 queries", "ties by id"], "b": ["2 queries", "ties by id"]})
    ['All: ties by id.', 'a: 3 queries.', 'b: 2 queries.']
    >>> said_once({"a": ["3 queries", "1 failed"], "b": ["3 queries"]})
    ['All: 3 queries.', 'a: 1 failed.']
    """
    names_of: dict[tuple[str, ...], list[str]] = {}
    for name, parts in parts_of.items():
        names_of.setdefault(tuple(parts), []).append(name)
    every = [*names_of]
    if len(every) == 1:
        return [f"{'; '.join(every[0])}."]
    shared = [part for part in every[0] if all(part in parts for parts in every)]
    lines = [f"All: {'; '.join(shared)}."] if shared else []
    own = {parts: [part for part in parts if part not in shared] for parts in every}
    more = [parts for parts in every if own[parts]]
    lines += [f"{several(names_of[parts])}: {'; '.join(own[parts])}." for parts in more[:most]]
    if len(more) > most:
        lines.append(f"… and {len(more) - most:,} more such lines.")
    return lines


def shortened(text: str, widest: int | None) -> str:
    """Text in one line, cut after ``most`` letters; whole without a limit.

    >>> shortened("what  is a vector store?", 12), shortened("why?", None)
    ('what is a v…', 'why?')
    """
    plain = in_one_line(" ".join(text.split()))
    return plain if widest is None or len(plain) <= widest else f"{plain[: widest - 1]}…"


def percent(share: float) -> str:
    """A share as a percentage that never rounds to none or all.

    >>> percent(0.5), percent(0.0004), percent(0.9999), percent(0), percent(1)
    ('50%', 'under 1%', 'over 99%', '0%', '100%')
    """
    if 0 < share < 0.01:
        return "under 1%"
    return "over 99%" if 0.99 < share < 1 else f"{share:.0%}"


def brief(text: str, most: int = 80) -> str:
    """An id or a line for a message, without its middle if it is long.

    >>> brief("d1"), brief("x" * 500, 20)
    ('d1', 'xxxxxxxxxx…xxxxxxxxx')
    """
    return in_one_line(_without_middle(text, most))


def _without_middle(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}…{text[len(text) - (most - 1) // 2 :]}"


def readable(message: str) -> str:
    """A message of readable length: words without end, and lists without end, lose their middle.

    >>> len(readable("There is no query '" + "x" * 9999 + "'."))
    218
    """
    if len(message) <= _LONG:
        return message
    words = [_without_middle(word, 200) if len(word) > 400 else word for word in message.split(" ")]
    return _without_middle(" ".join(words), 2000)


def visible(text: str) -> str:
    r"""Text in which control characters and marks that turn its direction are escaped: a terminal would obey them.

    Ends of lines and tabs stay.

    >>> print(visible("\x1b[31mred"))
    \x1b[31mred
    """
    return text if text.isprintable() else text.translate(_CONTROL)


def in_one_line(text: str) -> str:
    r"""Text for part of a line: ends of lines and tabs are escaped as well, and what CI services take for a command.

    GitHub and Azure run ``::name::`` at the start of a line (after white space, and any word may start a wrapped line), and ``##[name]``
    and ``##vso[name]`` anywhere.

    >>> print(in_one_line("q1\n::error::x"), in_one_line("::error::x"), in_one_line("tests/a.py::test"))
    q1\n::error::x \x3a:error::x tests/a.py::test
    """
    if not text.isprintable():
        text = text.translate(_CONTROL_AND_LINES)
    if "::" in text or "##" in text:
        text = _COMMAND.sub(lambda sign: f"\\x{ord(sign[0][0]):02x}{sign[0][1:]}", text)
    return text


def documentation(function: Callable[..., Any]) -> str:
    """The docstring of a function, from its file where Python dropped it (``python -OO``, ``PYTHONOPTIMIZE=2``).

    >>> documentation(documentation).partition(",")[0]
    'The docstring of a function'
    """
    if function.__doc__ or sys.flags.optimize < 2:
        return function.__doc__ or ""
    return _docstrings(function.__module__).get(function.__name__, "")


@cache
def _docstrings(module: str) -> dict[str, str]:
    """Those of the functions of a module."""
    import ast
    import inspect

    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError, SyntaxError):  # there is no file
        return {}
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return {one.name: ast.get_docstring(one, clean=False) or "" for one in functions}


def finite(value: float) -> float | None:
    """The number, or None if it is infinite or NaN, which JSON has no word for.

    >>> finite(0.5), finite(float("inf"))
    (0.5, None)
    """
    return float(value) if math.isfinite(value) else None


_LONG = 400  # letters, within which no word needs to be shortened

_CONTROL = {
    code: repr(chr(code))[1:-1] if code < 0x100 else f"\\u{code:04x}"
    for code in (
        *(*range(9), *range(11, 32), *range(127, 160)),
        *(0x61C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
    )
}
_CONTROL_AND_LINES = {**_CONTROL, 9: r"\t", 10: r"\n"}
_COMMAND = re.compile(r"(?<!\S)::(?=[A-Za-z])|##(?=(vso)?\[)")


def _joined(names: Sequence[str], last: str) -> str:
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


_SMALL = 0.001  # smaller p-values are printed as < 0.001


def p_cell(p: float, alpha: float = 0.05) -> str:
    """A p-value with three decimals, and more where these could be taken for alpha.

    >>> p_cell(0.0021), p_cell(0.00004), p_cell(0.04996), p_cell(1.0)
    ('0.002', '< 0.001', '0.04996', '1.000')
    """
    if p < _SMALL:
        return f"< {_SMALL}"
    decimals = 3
    while round(p, decimals) == alpha != p and decimals < 8:
        decimals += 1
    return f"{p:.{decimals}f}"
