"""The commands, one module each: read, call the library, report. :mod:`ranklens.cli` puts them together."""
