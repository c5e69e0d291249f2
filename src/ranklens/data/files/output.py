"""Where results go: to standard output, or to a file as a whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ranklens.data.files.temporary import temporary_file
from ranklens.errors import InputError
from ranklens.words import brief, visible

SYSTEM = {  # errors of the system, whatever file was named
    errno.ENOSPC,
    errno.EIO,
    errno.EFBIG,
    getattr(errno, "EDQUOT", errno.ENOSPC),
    errno.EMFILE,
    errno.ENFILE,
}
_ADDRESS = re.compile(r"([a-z][a-z0-9]+):/+(.*)")
_NUMBER = re.compile(r"\(os error (\d+)\)")


def check_outputs(paths: Iterable[Path | None], inputs: Iterable[str | Path | None] = ()) -> None:
    """The same for everything that a command writes; no two outputs may be the same file."""
    read = list(inputs)
    written: dict[str, Path] = {}
    for path in paths:
        check_output(path, read)
        if path is None or is_stream(path):
            continue
        # Links lead to the file, hard ones by its number. Names that differ only in case may be one file, and are a mistake if not.
        identities = [os.path.realpath(path).casefold()]
        if path.exists():
            identities.append(f"{path.stat().st_dev}:{path.stat().st_ino}")
        for name in identities:
            other = written.setdefault(name, path)
            if other is not path:
                raise InputError(f"{path} would be written twice, also as {other}; choose another name.")


def clear(*paths: Path | None) -> None:
    """Empty the files of an earlier call, so that they do not pass for the verdict of a call that ends without one."""
    for path in paths:
        if path is not None and path.is_file() and not is_stream(path):
            os.truncate(path, 0)


def check_output(path: Path | None, inputs: Iterable[str | Path | None] = ()) -> None:
    """Report before the work, not after it, that the file cannot be written: it would replace an input, for example."""
    if path is None:
        return
    try:
        _check_output(path, inputs)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{brief(repr(str(path)))} cannot be written: {reason}.") from None


def _check_output(path: Path, inputs: Iterable[str | Path | None]) -> None:
    if "\0" in str(path):
        raise ValueError("it contains a NUL")
    if is_stream(path):
        return
    if address := _ADDRESS.match(str(path)):  # a Path has dropped one slash
        raise InputError(
            f"{address[1]}://{address[2]}: results are written to files on this machine. Write one and copy it, or pipe it: "
            f"-o - --format json | aws s3 cp - s3://bucket/key."
        )
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}.")
    if path.is_dir():
        raise InputError(f"{path} is a folder; choose a file name.")
    for source in inputs:
        if source is not None and _is_read_from(path, Path(source)):
            raise InputError(f"{path} is one of the files to read; choose another name.")


def _is_read_from(path: Path, source: Path) -> bool:
    """Whether a file is the source, or belongs to a folder that is: any file of a folder of parts, the data of one of BEIR."""
    if not path.exists() or not os.path.exists(source):
        return False
    if not source.is_dir():
        return path.samefile(source)
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(source)):
        return False
    data = path.suffix == ".parquet" or path.resolve().parent.name == "qrels"
    return data or not (source / "qrels").is_dir() or path.name.startswith(("corpus.", "queries."))


def is_standard_output(output: Path | None) -> bool:
    """Whether results are printed: no file is given, or ``-``."""
    return output is None or str(output) == "-"


def write_text(text: str, output: Path | None) -> None:
    """Write to a file, completely or not at all; otherwise to standard output."""
    if output is None or is_standard_output(output):
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
        return
    write_whole(output, lambda place: place.write_text(text, encoding="utf-8", errors="backslashreplace"))


def write_whole(target: Path, write: Callable[[Path], Any]) -> None:
    """Never half-written: a temporary file next to the target, then a rename; ``-`` is standard output.

    A link keeps pointing to its target, which is written. Pipes and devices get the content when it is complete.
    """
    with naming(target):
        if is_stream(target):
            with temporary_file() as place:
                write(place)
                with place.open("rb") as content:
                    if str(target) == "-":
                        sys.stdout.flush()
                        shutil.copyfileobj(content, sys.stdout.buffer)
                        sys.stdout.buffer.flush()
                        return
                    with target.open("ab") as stream:  # behind what a redirected file holds already
                        shutil.copyfileobj(content, stream)
            return
        final = Path(os.path.realpath(target))
        with temporary_file(final.parent, f".{final.name[:60]}") as place:
            write(place)
            mask = os.umask(0)
            os.umask(mask)
            # As the file that is replaced, else as other new files: temporary ones are for their owner alone.
            place.chmod(stat.S_IMODE(final.stat().st_mode) if final.exists() else 0o666 & ~mask)
            place.replace(final)


@contextmanager
def naming(target: Path) -> Iterator[None]:
    """Say what cannot be written: a full disk is the system's error, everything else a wrong place."""
    try:
        yield
    except BrokenPipeError:  # the reader has seen enough
        raise
    except Exception as error:
        number = error.errno if isinstance(error, OSError) else None
        if number is None and type(error).__module__.startswith(("polars", "builtins")):
            in_text = _NUMBER.search(str(error))  # where Polars has the system's number
            number = int(in_text[1]) if in_text else None
        if number is None and not isinstance(error, OSError):
            raise
        reason = str(error) if number is None else os.strerror(number)
        if number in SYSTEM:
            raise OSError(number, f"cannot be written: {reason}", str(target)) from None
        raise InputError(f"{target} cannot be written: {reason}.") from None


def is_stream(target: Path) -> bool:
    """Whether what is written flows on, which a rename would cut off: standard output, pipes and devices."""
    names_open_file = str(target) in ("-", "/dev/stdout", "/dev/stderr")
    if names_open_file or os.path.realpath(target.parent).startswith("/proc/"):
        return True
    return target.exists() and not target.is_file() and not target.is_dir()
