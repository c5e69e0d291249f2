"""How to call a retriever: functions and the objects of RAG libraries, recognised by their shape.

============================  =====================================================================================
``f(text)``                   a function, a method or a callable object; also ``async def`` and generators
``f(text, k)``                if a parameter is called k, top_k, limit … or a second one is required
``f(texts: list[str])``       a batch: recognised by this annotation, or by ``batch_size``
``.invoke(text)``             LangChain (``.batch(texts)`` with a ``batch_size``)
``.retrieve(text)``           LlamaIndex
``.run(query=text)``          Haystack
``.search(text)``             others, if the object itself cannot be called
============================  =====================================================================================

An object with both kinds of methods is called synchronously, in a thread: the asynchronous methods of many libraries only
wrap the synchronous ones, and some block the event loop. To use the asynchronous method, pass it: ``retriever.ainvoke``.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass

from ranklens import words
from ranklens.errors import InputError

K_NAMES = ("k", "top_k", "topk", "limit", "n_results", "num_results", "top_n", "similarity_top_k", "size")
TEXT_NAMES = ("query", "text", "question", "q", "input", "query_text", "search_query")
_DECIDING = ("invoke", "ainvoke", "retrieve", "aretrieve")
_OTHERS = ("run", "run_async", "search", "asearch")  # if the object itself cannot be called
_BATCH_SIZE = 32  # if the annotation asks for a batch, but does not say how large
_TEXTS = re.compile(r"(list|List|Sequence|Iterable|Collection|tuple|Tuple)\[str\b")


@dataclass(frozen=True)
class Caller:
    """A retriever with one way to call it: with a text, or with a list of texts if there is a ``batch_size``."""

    call: Callable[[object], object]
    is_async: bool = False
    batch_size: int | None = None
    told_k: bool = True


def adapt(retriever: object, *, k: int = 10, batch_size: int | None = None) -> Caller:
    """Find out how to call a retriever; an :class:`InputError` if it cannot be called with a text.

    >>> adapt(lambda text, k: [f"d{i}" for i in range(k)], k=3).call("why?")
    ['d0', 'd1', 'd2']
    """
    function = _function(retriever, batch_size)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions have none
        signature = None
    parameters = [] if signature is None else list(signature.parameters.values())
    size = _batch(function, parameters, batch_size)
    text_name = _text_name(function, parameters)
    # A first parameter that can be given by position takes the text, whatever its name.
    nameable = {
        p.name
        for place, p in enumerate(parameters)
        if p.kind is p.KEYWORD_ONLY or (place > 0 and p.kind is p.POSITIONAL_OR_KEYWORD)
    }
    k_name = next((name for name in K_NAMES if name in nameable), None)
    positional = [p for p in parameters if p.kind in _POSITIONAL]
    by_position = k_name is None and len(positional) > 1 and positional[1].default is inspect.Parameter.empty

    def arguments(text: object) -> tuple[tuple[object, ...], dict[str, object]]:
        named: dict[str, object] = {} if k_name is None else {k_name: k}
        if text_name is not None:
            return (), {text_name: text, **named}
        return ((text, k) if by_position else (text,)), named

    def call(text: object) -> object:
        positional, named = arguments(text)
        return function(*positional, **named)

    if signature is not None:
        values, named = arguments("text")
        try:
            signature.bind(*values, **named)
        except TypeError as error:
            shown = ", ".join([*map(str, values), *(f"{name}={value}" for name, value in named.items())])
            raise InputError(
                f"The retriever {_name(function)}{signature} cannot be called with ({shown}): {error}. Wrap it in a function: lambda text: …"
            ) from None
    inner = getattr(function, "__call__", None)  # noqa: B004  of an object whose __call__ is async
    is_async = any(inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f) for f in (function, inner))
    return Caller(call, is_async, size, k_name is not None or by_position)


def _function(retriever: object, batch_size: int | None) -> Callable[..., object]:
    """What to call: the method that retrievers of libraries have, else the object itself."""
    if inspect.isclass(retriever):
        raise InputError(
            f"The retriever is the class {retriever.__name__}; pass an instance of it, or a function."
        )
    if not callable(retriever) and not any(hasattr(retriever, name) for name in (*_DECIDING, *_OTHERS)):
        hint = " For existing rankings, call compare with {name: run}." if isinstance(retriever, dict) else ""
        raise InputError(
            f"The retriever is {words.kind(retriever)}, which cannot be called; pass a function that takes a text and returns a list of ids, or an object with .invoke, .retrieve, .run or .search.{hint}"
        )
    if inspect.isroutine(retriever) or isinstance(retriever, functools.partial):
        return retriever
    if batch_size is not None:
        batch: object = getattr(retriever, "batch", None)
        if callable(batch):
            return batch
    names = _DECIDING if callable(retriever) else (*_DECIDING, *_OTHERS)
    for name in names:
        method: object = getattr(retriever, name, None)
        if callable(method):
            break
    else:
        return retriever  # type: ignore[return-value]  # calling it says what is wrong with it
    if batch_size is not None:
        raise InputError(
            f"batch_size={batch_size} is given, but {type(retriever).__name__} has no .batch; "
            "omit batch_size, or pass a function that takes a list of texts."
        )
    return method


def _name(function: Callable[..., object]) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _text_name(function: Callable[..., object], parameters: list[inspect.Parameter]) -> str | None:
    """The parameter that takes the text by name; None if it takes it as its first argument."""
    names = [p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    haystack = getattr(function, "__name__", "") in ("run", "run_async") and inspect.ismethod(function)
    if haystack and "query" in names:
        return "query"
    positional = [p for p in parameters if p.kind in (*_POSITIONAL, p.VAR_POSITIONAL)]
    if not parameters or (positional and not haystack):
        return None
    text_name = None if haystack else next((name for name in TEXT_NAMES if name in names), None)
    if text_name is None:
        raise InputError(
            f"{_name(function)}({', '.join(names)}) has no parameter for the query text that RankLens recognises; wrap it in a function: lambda text: …"
        )
    return text_name


def _batch(
    function: Callable[..., object], parameters: list[inspect.Parameter], batch_size: int | None
) -> int | None:
    annotation = parameters[0].annotation if parameters else inspect.Parameter.empty
    if batch_size is None:
        return _BATCH_SIZE if _TEXTS.search(str(annotation)) else None
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise InputError(f"batch_size={batch_size!r} is not allowed; it is a whole number from 1, or None.")
    if annotation in (str, "str"):
        name = getattr(function, "__name__", "The retriever")
        raise InputError(
            f"batch_size={batch_size} is given, but {name} takes a single text ({parameters[0].name}: str); "
            "leave batch_size out, or make it take a list of texts."
        )
    return batch_size
