"""How a program begins and ends: Ctrl-C never shows a traceback, and nothing but the end of its work is success.

It imports next to nothing, so that commands can begin here.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

_own: dict[str, Callable[..., object]] = {name: getattr(os, name) for name in ("_exit", "execv", "execve")}
_modules = os, sys.modules[os.name]  # posix or nt, from which os has them
_guards: list[int] = []  # processes; a list may be changed by several threads


def main() -> int:
    """``ranklens``."""
    return _begin("ranklens.cli.main")


def trec_eval() -> int:
    """``ranklens-trec-eval``."""
    return _begin("ranklens.exchange.trec.command")


def _begin(module: str) -> int:
    try:
        import signal

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, interrupted)  # until ranklens.process answers it
        from importlib import import_module

        command = import_module(module)
    except KeyboardInterrupt:
        interrupted()
    return int(command.main())


def interrupted(*_: object) -> NoReturn:
    """The answer to Ctrl-C while a program is loaded: there is nothing to clean up yet, and nothing worth a traceback."""
    leave_at_once(130)


def leave_at_once(status: int) -> NoReturn:
    """End the process here and now, which other code may be kept from."""
    _own["_exit"](status)
    raise AssertionError


class only_at_the_end:  # noqa: N801  used like a function
    """Make ``os._exit`` and ``os.execv`` of this process raise ``SystemExit`` while code of others is called.

    A retriever that called ``os._exit(0)`` would otherwise pass every gate. Child processes end as they like.
    """

    def __enter__(self) -> None:
        from_now_on_only_at_the_end()

    def __exit__(self, *_: object) -> None:
        _guards.pop()
        if not _guards:
            _replace(_own)


def from_now_on_only_at_the_end() -> None:
    """The same without an end: what ``atexit`` calls, and threads that were left behind, cannot end a program either."""
    _guards.append(os.getpid())
    _replace({name: _as_sys_exit(name) for name in _own})


def _replace(functions: dict[str, Callable[..., object]]) -> None:
    for module in _modules:
        for name, function in functions.items():
            setattr(module, name, function)


def _as_sys_exit(name: str) -> Callable[..., object]:
    def end(*arguments: object, **named: object) -> object:
        if os.getpid() not in _guards:  # a child process
            return _own[name](*arguments, **named)
        sys.exit(f"os.{name}() was called, which would have ended RankLens itself")

    return end
