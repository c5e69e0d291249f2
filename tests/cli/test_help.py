"""Help in groups, and errors that name the command."""

import typer.main

from ranklens.cli.help_groups import FIRST, GROUPS, grouped
from ranklens.cli.main import app, main


def commands():
    for name, command in typer.main.get_command(app).commands.items():
        yield name, command
        yield from ((f"{name} {own}", inner) for own, inner in getattr(command, "commands", {}).items())


def test_every_option_is_in_one_group_and_every_listed_one_exists():
    listed, taken = [name for names in GROUPS.values() for name in names.split()], set()
    assert {name for name in listed if listed.count(name) > 1} == {"label"}  # LaTeX's, else that of an entry
    for name, command in commands():
        options = [one for one in command.params if one.param_type_name == "option"]
        members = [one for _, group in grouped(command.params) for one in group]
        assert sorted(map(id, members)) == sorted(map(id, options)), name
        taken |= {one.opts[-1].lstrip("-") for one in options}
    assert set(listed) - taken == {"help"}


def test_commands_that_read_data_have_no_options_without_a_group():
    for name, command in commands():
        first = dict(grouped(command.params))[FIRST]
        assert first == [], (name, [one.name for one in first])


def test_help_shows_measures_data_tests_and_output_in_this_order(capsys):
    assert main(["compare", "--help"]) == 0
    out = capsys.readouterr().out
    titles = ("Arguments:", "Measures:", "Data:", "Tests:", "Output:", "LaTeX:", "Policies:", "General:")
    places = [out.index(f"\n{title}\n") for title in titles]
    assert places == sorted(places)
    assert out.index("--label") > out.index("\nLaTeX:\n")
    assert "Options:" not in out


def test_errors_name_the_command(capsys):
    for arguments, begins, last in (
        (["compare", "--foo"], "ranklens compare: No such option", "Try 'ranklens compare --help'."),
        (["evaluate", "nothing.txt", "run.txt"], "ranklens evaluate: nothing.txt does not exist.", ""),
        (["history", "show", "1", "--history", "no.db"], "ranklens history: ", ""),
        (["unknown"], "ranklens: No such command 'unknown'.", "Try 'ranklens --help'."),
    ):
        assert main(arguments) == 2
        lines = capsys.readouterr().err.splitlines()
        assert lines[0].startswith(begins)
        assert lines[1:] == ([last] if last else [])
