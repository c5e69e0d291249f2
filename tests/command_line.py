"""The command line as tests call it."""

from pathlib import Path

from ranklens.cli.main import main

GOLDEN = Path(__file__).parent / "golden"


def run(capsys, *arguments):
    status = main(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err
