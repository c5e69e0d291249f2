"""The corpus of the demo: what the Python standard library says about its own modules, classes, functions and methods.

It is made at run time from docstrings, which come with Python, so the demo needs no download. Modules are imported from a
fixed list. It leaves out modules that do something on import (``this``, ``antigravity``), open windows (``turtle``,
``tkinter``, ``idlelib``), take over the terminal (``readline``, ``curses``), are deprecated, or exist on one system only.
A module that this Python lacks is skipped and named.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import types
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ranklens.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MODULES = [
    "builtins", "abc", "argparse", "array", "ast", "asyncio", "atexit", "base64", "bdb", "binascii",
    "bisect", "bz2", "calendar", "cmath", "cmd", "code", "codecs", "codeop", "collections",
    "collections.abc", "colorsys", "compileall", "concurrent.futures", "configparser", "contextlib",
    "contextvars", "copy", "copyreg", "cProfile", "csv", "ctypes", "ctypes.util", "dataclasses", "datetime",
    "dbm", "dbm.dumb", "decimal", "difflib", "dis", "doctest", "email", "email.charset", "email.encoders",
    "email.generator", "email.header", "email.headerregistry", "email.message", "email.mime.application",
    "email.mime.audio", "email.mime.base", "email.mime.image", "email.mime.multipart", "email.mime.text",
    "email.parser", "email.policy", "email.utils", "enum", "faulthandler", "filecmp", "fileinput",
    "fnmatch", "fractions", "ftplib", "functools", "gc", "getopt", "getpass", "gettext", "glob", "graphlib",
    "gzip", "hashlib", "heapq", "hmac", "html", "html.parser", "http", "http.client", "http.cookiejar",
    "http.cookies", "http.server", "imaplib", "importlib", "importlib.abc", "importlib.machinery",
    "importlib.metadata", "importlib.resources", "importlib.util", "inspect", "io", "ipaddress",
    "itertools", "json", "json.decoder", "json.encoder", "keyword", "linecache", "locale", "logging",
    "logging.config", "logging.handlers", "lzma", "mailbox", "marshal", "math", "mimetypes", "mmap",
    "modulefinder", "multiprocessing", "multiprocessing.connection", "multiprocessing.managers",
    "multiprocessing.pool", "multiprocessing.shared_memory", "netrc", "numbers", "operator", "optparse",
    "os", "os.path", "pathlib", "pdb", "pickle", "pickletools", "pkgutil", "platform", "plistlib", "poplib",
    "pprint", "profile", "pstats", "py_compile", "pyclbr", "pydoc", "queue", "quopri", "random", "re",
    "reprlib", "runpy", "sched", "secrets", "select", "selectors", "shelve", "shlex", "shutil", "signal",
    "smtplib", "socket", "socketserver", "sqlite3", "ssl", "stat", "statistics", "string", "stringprep",
    "struct", "subprocess", "symtable", "sys", "sysconfig", "tabnanny", "tarfile", "tempfile", "textwrap",
    "threading", "time", "timeit", "token", "tokenize", "tomllib", "trace", "traceback", "tracemalloc",
    "types", "typing", "unicodedata", "unittest", "unittest.mock", "urllib.error", "urllib.parse",
    "urllib.request", "urllib.response", "urllib.robotparser", "uuid", "venv", "warnings", "wave",
    "weakref", "webbrowser", "wsgiref.handlers", "wsgiref.headers", "wsgiref.simple_server", "wsgiref.util",
    "wsgiref.validate", "xml.dom", "xml.dom.minidom", "xml.dom.pulldom", "xml.etree.ElementTree", "xml.sax",
    "xml.sax.handler", "xml.sax.saxutils", "xml.sax.xmlreader", "xmlrpc.client", "xmlrpc.server", "zipapp",
    "zipfile", "zipimport", "zlib", "zoneinfo",
]  # fmt: skip

# Programs replace these hooks, our command line among them; the originals have the documentation.
_ORIGINALS = {
    "sys.breakpointhook": "__breakpointhook__",
    "sys.displayhook": "__displayhook__",
    "sys.excepthook": "__excepthook__",
    "sys.unraisablehook": "__unraisablehook__",
    "threading.excepthook": "__excepthook__",
    "warnings.showwarning": "_showwarning_orig",
}

# Docstrings written by a decorator or a parser generator, not by a person.
_WRITTEN_BY_MACHINES = ("Alias for field number", "An enumeration.", "Deprecated AST node")
_FEWEST = 3000  # documents; about 2,000 remain if Python code has no docstrings
_SHORTEST = 10  # letters; a shorter text says no more than the name


@dataclass(frozen=True)
class Corpus:
    """Documents by name, e.g. ``shutil.copytree``, and the modules that this Python lacks."""

    documents: Mapping[str, str]
    lacking: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.documents)


def build() -> Corpus:
    """The documentation of the standard library, one document per name.

    >>> corpus = build()
    >>> corpus.documents["shutil.copytree"].splitlines()[0]
    'Recursively copy a directory tree and return the destination directory.'
    >>> len(corpus) > 3000
    True
    """
    texts: dict[str, str] = {}
    lacking = []
    seen: set[int] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons may have deprecated some names
        for name in MODULES:
            try:
                module = importlib.import_module(name)
            except ImportError:
                lacking.append(name)
                continue
            for title, thing in _things(name, module):
                text = _text(thing)
                if text and id(thing) not in seen:
                    seen.add(id(thing))
                    texts.setdefault(title, text)
    if len(texts) < _FEWEST:
        raise InputError(
            f"This Python has only {len(texts)} docstrings: it was started with -OO or built without them. "
            "Start it without -OO, or use another Python."
        )
    # Of several documents of a package with the same text and the same last name, the one with the shortest title stays:
    # ``random.choice`` is a method of a hidden ``random.Random``, and ``bytes`` repeats ``str``. A copy is as good an answer
    # as the original, so copies would only blur the judgments.
    originals: dict[tuple[str, str, str], str] = {}
    for title in sorted(texts, key=lambda title: (len(title), title)):
        package, _, _ = title.partition(".")
        package = "" if hasattr(builtins, package) else package
        originals.setdefault((package, title.rpartition(".")[2], texts[title]), title)
    titles = set(originals.values())
    return Corpus({title: text for title, text in texts.items() if title in titles}, tuple(lacking))


def _things(name: str, module: types.ModuleType) -> Iterator[tuple[str, object]]:
    """The module, its public functions and classes, and their public methods, each under the name people know."""
    yield name, module
    prefix = "" if name == "builtins" else f"{name}."
    public = _public_names(module)
    for key in public:
        thing = getattr(module, _ORIGINALS.get(f"{name}.{key}", key), None)
        proper = str(getattr(thing, "__name__", key))
        is_alias = proper != key and proper in public and getattr(module, proper) is thing  # array.ArrayType
        if not callable(thing) or is_alias:
            continue
        yield prefix + key, thing
        if inspect.isclass(thing):
            for method, part in _methods(thing, module):
                yield f"{prefix}{key}.{method}", part


def _public_names(module: types.ModuleType) -> list[str]:
    """The names in ``__all__``, else what is defined in the module or in the C module behind it."""
    names = getattr(module, "__all__", None)
    if names is None:
        home = module.__name__
        origins = {key: getattr(thing, "__module__", None) or home for key, thing in vars(module).items()}
        names = [
            key
            for key, origin in origins.items()
            if home in ("builtins", origin.lstrip("_")) or f"{home}.{key}" in _ORIGINALS
        ]
    return sorted(key for key in names if not key.startswith("_"))


def _methods(cls: type, module: types.ModuleType) -> Iterator[tuple[str, object]]:
    """The public methods and properties that a class defines, or inherits from classes that the module does not show."""
    bases = inspect.getmro(cls)[1:]
    package = cls.__module__.partition(".")[0]
    public = _public_names(module)
    shown = [
        base for base in bases if base.__module__.partition(".")[0] != package or base.__name__ in public
    ]
    hidden = [base for base in bases if not any(issubclass(other, base) for other in shown)]
    for owner in (cls, *hidden):
        for key, part in sorted(vars(owner).items()):
            is_method = inspect.isroutine(part) or isinstance(part, (property, classmethod, staticmethod))
            if is_method and not key.startswith("_"):
                yield key, getattr(part, "__func__", part)


def _text(thing: object) -> str:
    """The thing's own docstring, or that of its ``__init__``; not that of its type, which instances inherit."""
    text = getattr(thing, "__doc__", None)
    if text is None and inspect.isclass(thing):
        start = vars(thing).get("__init__")
        text = start.__doc__ if inspect.isfunction(start) else None
    of_its_type = not inspect.isclass(thing) and text == type(thing).__doc__
    if not isinstance(text, str) or of_its_type or text.startswith(_WRITTEN_BY_MACHINES):
        return ""
    text = inspect.cleandoc(text)
    return text if len(text) >= _SHORTEST else ""
