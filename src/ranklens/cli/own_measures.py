"""``--load my_measures.py``: measures of the user's own, from a Python file that is run."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from ranklens.bench.config.callables import importable, told
from ranklens.errors import InputError


def load_measures(files: Iterable[str]) -> None:
    """Run the files, once each, so that their measures are registered; modules next to them can be imported."""
    for file in files:
        path = Path(file)
        if not path.is_file():
            raise InputError(f"--load {file}: there is no such file.")
        name = f"ranklens_own_{path.stem}"
        found = spec_from_file_location(name, path)
        if found is None or found.loader is None:
            raise InputError(f"--load {file}: a Python file is expected, with a name that ends in .py.")
        module = sys.modules[name] = module_from_spec(found)
        try:
            with importable(path.parent):
                found.loader.exec_module(module)
        except (Exception, SystemExit) as error:  # noqa: BLE001  whatever the file does
            del sys.modules[name]
            raise InputError(f"--load {file}: {told(error)}") from None
