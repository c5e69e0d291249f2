"""Files that hold no text: what they are, and how to get a table out of them."""

from __future__ import annotations

from ranklens.errors import InputError

_TABLE = "write Parquet, CSV or JSONL from it"
_UNPACK = "unpack it, and pass a file that was in it"
# How formats begin, what they are called, and what to do.
_BEGINNINGS: dict[bytes, tuple[str, str]] = {
    b"PK\x03\x04": ("a ZIP archive", _UNPACK),
    b"PK\x05\x06": ("an empty ZIP archive", _UNPACK),
    b"7z\xbc\xaf\x27\x1c": ("a 7-Zip archive", _UNPACK),
    b"Rar!\x1a\x07": ("a RAR archive", _UNPACK),
    b"\x04\x22\x4d\x18": ("an LZ4 archive", _UNPACK),
    b"\xd0\xcf\x11\xe0": ("a file of an old version of Office", "save the sheet as CSV"),
    b"%PDF-": ("a PDF document", "pass the data that it was made from"),
    b"ARROW1": ("a Feather (Arrow IPC) file", f"{_TABLE}, or pass the table that polars.read_ipc reads"),
    b"FEA1": ("a Feather file of version 1", _TABLE),
    b"\xff\xff\xff\xff": (
        "an Arrow stream",
        f"{_TABLE}, or pass the table that polars.read_ipc_stream reads",
    ),
    b"Obj\x01": ("an Avro file", f"{_TABLE}, or pass the table that polars.read_avro reads"),
    b"SQLite format 3\0": ("an SQLite database", _TABLE),
    b"\x89HDF\r\n": ("an HDF5 file", _TABLE),
    b"\x93NUMPY": ("a NumPy array", "pass the array in Python"),
    **{
        bytes((0x80, version)): ("a pickle, which RankLens never loads", "write JSON or Parquet from it")
        for version in range(2, 6)
    },
}
_IN_ZIP = {
    b"xl/": ("an Excel workbook", "save the sheet as CSV"),
    b"mimetypeapplication/vnd.oasis": ("a spreadsheet of OpenDocument", "save the sheet as CSV"),
    b".npy": ("an archive of NumPy arrays", "pass the arrays in Python"),
}
_TAR = 257  # where a tar archive says that it is one


def refuse_binary(name: str, head: bytes) -> None:
    """Say what a file is that no reader takes; its bytes might pass for text."""
    found = next((known for start, known in _BEGINNINGS.items() if head.startswith(start)), None)
    if head.startswith(b"PK\x03\x04"):
        found = next((known for sign, known in _IN_ZIP.items() if sign in head), found)
    if head[_TAR : _TAR + 5] == b"ustar":
        found = ("a tar archive", _UNPACK)
    if head.startswith(b"ORC") and not head[3:4].decode("latin-1").isprintable():
        found = ("an ORC file", _TABLE)
    if found is not None:
        what, todo = found
        raise InputError(f"{name} is {what}: {todo}.", path=name)
