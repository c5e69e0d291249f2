"""How every command behaves: one-line messages, exit codes, clean-up.

The exit codes of all commands are here: 0 fine, 1 a check failed, 2 wrong usage or data, 3 the system or RankLens itself
failed, 130 Ctrl-C, 143 a polite kill.
"""

from __future__ import annotations

import codecs
import errno
import faulthandler
import gc
import io
import os
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO, cast

from ranklens import start
from ranklens.data.files import temporary
from ranklens.errors import InPython, Message, Option, RankLensError, RankLensWarning, spelling
from ranklens.progress import quietly
from ranklens.redaction import redacted
from ranklens.words import brief, counted, either, in_one_line, visible

CHECK_FAILED, WRONG, FAILED = 1, 2, 3
_SELDOM = 100_000  # new objects until garbage is looked for: imports make many, and hardly any garbage
_PATIENCE = 10  # seconds for a command that was stopped to clean up
_ISSUES = "https://github.com/ranklens/ranklens/issues"


def guarded(name: str, run: Callable[[], int], *, hides_panics: bool = True) -> int:
    """The exit status of a command; whatever goes wrong is reported in one line, and no temporary file stays behind.

    ``hides_panics`` keeps what libraries below Python write to standard error before they fail.
    """
    with suppress(OSError):
        tempfile.gettempdir()  # which tries folders with a file of its own, and should not be stopped in between
    with _usable_streams(), _stopping() as stopped, start.only_at_the_end():
        try:
            with spelling(as_option), warnings_in_one_line(name), _panics_hidden(hides_panics):
                status = run()
                sys.stdout.flush()
        except (SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001  an engine's panic is no Exception
            status = _report(name, error) if not stopped else 0
        finally:
            temporary.remove_all()
        return 128 + stopped[0] if stopped else status


def program(name: str, run: Callable[[], int], *, hides_panics: bool = True) -> int:
    """The same for a whole program, which ends here if it was stopped; from now on it has its status."""
    gc.set_threshold(_SELDOM)
    start.from_now_on_only_at_the_end()
    status = guarded(name, run, hides_panics=hides_panics)
    if status > 128:
        leave_at_once(status)
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):  # too late to stop anything: the work is done
            signal.signal(number, signal.SIG_IGN)
    gc.freeze()  # the system takes the memory back at once; Python would first search it for cycles
    return status


def _report(name: str, error: BaseException) -> int:
    """Say what went wrong; the exit status."""
    if isinstance(error, RankLensError):
        return _say(name, in_options(error), WRONG)
    if isinstance(error, BrokenPipeError):
        leave_closed_pipe()
        return 0
    if isinstance(error, KeyboardInterrupt):
        return 128 + signal.SIGINT
    if os.environ.get("RANKLENS_DEBUG", "") not in ("", "0"):
        import traceback

        trace = redacted("".join(traceback.format_exception(error)))
        sys.stderr.write("\n".join(map(in_one_line, trace.split("\n"))))
    if isinstance(error, MemoryError):
        return _say(name, "there is not enough memory.", FAILED)
    if isinstance(error, OSError) and (error.errno is not None or error.filename is not None):
        is_output = error.filename in (None, "-")
        if is_output:  # what could not be written would be tried again at the end, and change the status
            leave_closed_pipe()
        where = "standard output" if is_output else os.fsdecode(error.filename)
        is_mistake = error.errno == errno.ENAMETOOLONG  # no such file can exist
        return _say(name, f"{brief(where, 300)}: {error.strerror or error}.", WRONG if is_mistake else FAILED)
    what = brief(" ".join(f"{type(error).__name__}: {error}".split()), 300)
    return _say(
        name, f"internal error: {what}. Please report it: {_ISSUES} (RANKLENS_DEBUG=1 shows more).", FAILED
    )


def say(message: str) -> None:
    """Write a line to standard error, whose reader may have left: the exit status does not depend on that."""
    _say("ranklens", message, 0)


def say_result(line: str = "", *, to_errors: bool = False) -> None:
    """Write a line to standard output, or to standard error where that holds something else."""
    stream = sys.stderr if to_errors else sys.stdout
    stream.write(f"{line}\n")


def _say(name: str, message: str, status: int) -> int:
    with suppress(OSError, ValueError):  # standard error may be closed or full
        sys.stderr.write(f"{name}: {visible(redacted(message))}\n")
    return status


@contextmanager
def warnings_in_one_line(name: str) -> Iterator[None]:
    """Write warnings to standard error as ``name: warning: …``, all of them."""

    def write(message: Warning | str, *_: object, **__: object) -> None:
        _say(name, f"warning: {in_options(message)}", 0)

    with warnings.catch_warnings():
        warnings.simplefilter("always", RankLensWarning)
        warnings.showwarning = write
        yield


class CheckFailed(Exception):  # noqa: N818  no error: the results are valid
    """A command ends with status 1 because a check failed; results are written all the same."""

    status = CHECK_FAILED


@contextmanager
def loudness(*, quiet: bool, strict: bool) -> Iterator[None]:
    """``quiet`` shows neither warnings nor progress; with ``strict``, the command ends with :class:`CheckFailed` if there was a warning."""
    heard = 0
    show = warnings.showwarning

    def hear(message: Warning | str, *rest: Any, **named: Any) -> None:
        nonlocal heard
        heard += 1
        if not quiet:
            show(message, *rest, **named)

    with warnings.catch_warnings(), quietly(quiet):
        warnings.showwarning = hear
        yield
    if strict and heard:
        _say("ranklens", f"{counted(heard, 'warning')}, which --strict does not allow.", CHECK_FAILED)
        raise CheckFailed


def in_options(message: Exception | str) -> str:
    """A message of the library as the command line says it.

    >>> from ranklens.errors import PolicyError
    >>> in_options(PolicyError("Remove it, or choose ", Option("unjudged_queries", "ignore"), "."))
    'Remove it, or choose --unjudged-queries ignore.'
    """
    return message.spelled(as_option) if isinstance(message, Message) else in_one_line(str(message))


def as_option(part: Option | InPython) -> str:
    """What the command line says where Python names an option.

    >>> as_option(Option("ties", "ascending", "input")), as_option(InPython("ranklens.measures()", "ranklens measures"))
    ('--ties ascending or input', 'ranklens measures')
    """
    if isinstance(part, InPython):
        return part.command
    return " ".join(
        [f"--{part.name.replace('_', '-')}", either([str(value) for value in part.values])]
    ).rstrip()


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Continue after a broken pipe, because the exit status depends on more than the output."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        leave_closed_pipe()


def leave_closed_pipe() -> None:
    """Let what is still to be written go nowhere, so that Python does not complain when it flushes at the end."""
    with suppress(OSError, ValueError):  # io.UnsupportedOperation, where standard output is no file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())


# --- signals


def leave_at_once(status: int) -> NoReturn:
    """End the program without a look back: Python itself ends with another status if an engine saw the Ctrl-C."""
    temporary.remove_all()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    start.leave_at_once(status)


@contextmanager
def _stopping() -> Iterator[list[int]]:
    """SIGINT and SIGTERM raise KeyboardInterrupt once; the list contains the signal received."""
    stopped: list[int] = []

    def stop(number: int, _: object) -> None:
        if stopped:  # again: at once
            leave_at_once(128 + number)
        stopped.append(number)
        _leave_after(_PATIENCE, 128 + number)
        raise KeyboardInterrupt

    def unless_stopped(hook: Callable[..., object]) -> Callable[..., None]:
        """For code that the exception cannot stop: Python's own, or NumPy's, which prints it while it is imported."""

        def report(*error: object) -> None:
            if stopped:
                leave_at_once(128 + stopped[0])
            hook(*error)

        return report

    usual = {
        signal.SIGINT: (signal.default_int_handler, start.interrupted),
        signal.SIGTERM: (signal.SIG_DFL,),
    }
    in_main = threading.current_thread() is threading.main_thread()
    before = {n: signal.getsignal(n) for n in usual} if in_main else {}
    taken = {n: handler for n, handler in before.items() if handler in usual[n]}
    hooks = sys.excepthook, sys.unraisablehook
    sys.excepthook, sys.unraisablehook = unless_stopped(hooks[0]), unless_stopped(hooks[1])
    try:
        for number in taken:
            signal.signal(number, stop)
        yield stopped
    finally:
        if stopped:
            _leave_after(0, 0)
        sys.excepthook, sys.unraisablehook = hooks
        for number, handler in taken.items():
            signal.signal(number, handler)


def _leave_after(seconds: float, status: int) -> None:
    """End the program if it takes too long to stop; 0 seconds call that off.

    The exception may have met one of Python's own locks between taking it and using it, and then everyone waits for it forever.
    """
    if hasattr(signal, "setitimer"):  # not on Windows
        signal.signal(signal.SIGALRM, (lambda *_: leave_at_once(status)) if seconds else signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)


# --- streams


@contextmanager
def _usable_streams() -> Iterator[None]:
    """Standard streams that may be closed, and whose encoding may lack letters, which are escaped then."""
    before = sys.stdout, sys.stderr
    if sys.stdout is None or sys.stderr is None or sys.stdin is None:
        # Else the next file that is opened would be standard output, and be written to.
        while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(number)
    sys.stdout = cast("TextIO", _Closed("standard output")) if sys.stdout is None else sys.stdout
    sys.stderr = open(os.devnull, "w", encoding="utf-8") if sys.stderr is None else sys.stderr  # noqa: SIM115
    changed = []
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors is not None:
            with suppress(OSError, ValueError):
                changed.append((stream, stream.errors))
                stream.reconfigure(errors=_ESCAPE)
    try:
        yield
    finally:
        for stream, errors in changed:
            with suppress(OSError, ValueError):
                stream.reconfigure(errors=errors)
        sys.stdout, sys.stderr = before


_ESCAPE = "ranklens.escape"


def _escaped(error: UnicodeError) -> tuple[str, int]:
    r"""``\u20ac``, as JSON and Python write it."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)), error.end


codecs.register_error(_ESCAPE, _escaped)


class _Closed(io.TextIOBase):
    """A stream that refuses all writes."""

    def __init__(self, name: str) -> None:
        self._name = name

    def write(self, _: str) -> NoReturn:
        raise OSError(errno.EBADF, "is closed", self._name)

    @property
    def buffer(self) -> NoReturn:
        self.write("")


# --- engines


@contextmanager
def _panics_hidden(wanted: bool) -> Iterator[None]:
    """Hide what an engine below Python prints about its own failure before it raises an error.

    Python's own standard error is left alone; the rest is shown at the end unless it is a panic.
    """
    try:
        noise = tempfile.TemporaryFile() if wanted else None  # noqa: SIM115
    except OSError:  # disk full: continue without it
        noise = None
    if noise is None:
        yield
        return
    standard_error = os.dup(2)
    # An engine that cannot get memory aborts, and no handler of ours runs then: this says at least what happened, and where.
    watches = not faulthandler.is_enabled()
    if watches:
        faulthandler.enable(standard_error, all_threads=False)
    own = sys.stderr
    os.dup2(noise.fileno(), 2)
    with suppress(OSError, ValueError):  # a stream without a number
        if own.fileno() == 2:
            sys.stderr = open(  # noqa: SIM115
                standard_error, "w", buffering=1, encoding=own.encoding, errors=own.errors, closefd=False
            )
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        sys.stderr = own
        os.dup2(standard_error, 2)
        if watches:
            faulthandler.disable()
        os.close(standard_error)
        with noise, suppress(OSError):
            noise.seek(0)
            os.write(2, noise.read().partition(b"\nthread '")[0])
