"""How long a text is: in words, or in the tokens of a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

from ranklens.errors import InputError, MissingExtraError, nearest

Tokenizer: TypeAlias = "str | Callable[[str], Any]"  # a function returns the tokens, or how many there are
WORDS = "words"


def lengths(texts: Sequence[str], tokenizer: Tokenizer) -> list[float]:
    """The number of tokens of each text.

    >>> lengths(["one two", ""], str.split), lengths(["one two"], "characters")
    ([2.0, 0.0], [7.0])
    """
    count = _counter(tokenizer)
    known: dict[str, float] = {}
    return [known[text] if text in known else known.setdefault(text, count(text)) for text in texts]


def named(tokenizer: Tokenizer) -> str:
    """What the tokens are called, in the plural."""
    if tokenizer in (WORDS, "characters"):
        return str(tokenizer)
    return f"tokens of {tokenizer if isinstance(tokenizer, str) else getattr(tokenizer, '__name__', 'the tokenizer')}"


def _counter(tokenizer: Tokenizer) -> Callable[[str], float]:
    if tokenizer == "characters":
        return lambda text: float(len(text))
    function = _encoding(tokenizer) if isinstance(tokenizer, str) else tokenizer

    def count(text: str) -> float:
        found = function(text)
        return float(found if isinstance(found, (int, float)) else len(found))

    return count


@cache
def _encoding(name: str) -> Callable[[str], list[int]]:
    """An encoding of tiktoken, by its name or that of a model."""
    try:
        import tiktoken
    except ImportError as error:
        raise MissingExtraError(
            f"tokenizer={name!r} needs tiktoken: pip install tiktoken. Without it, lengths are counted in words or characters, or by a function "
            "of your own."
        ) from error
    known = tiktoken.list_encoding_names()
    try:
        encoding = tiktoken.get_encoding(name) if name in known else tiktoken.encoding_for_model(name)
    except KeyError:
        raise InputError(
            f"tokenizer={name!r} is not allowed: {nearest(name, (WORDS, 'characters', *known))}"
        ) from None
    encode: Callable[[str], list[int]] = encoding.encode_ordinary
    return encode
