"""Which team each system is from, and the best run of each team."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ranklens.data.files.rows import read_rows
from ranklens.data.readers.names import plain
from ranklens.errors import InputError
from ranklens.tables.table import Table
from ranklens.words import counted, several

if TYPE_CHECKING:
    from ranklens.comparison.comparison import Comparison

BY_TAG = "tag"
MOST_TEAMS = 20  # shown for each measure, in print
_SYSTEMS, _TEAMS = (
    ("system", "run", "tag", "run_tag", "name", "id"),
    ("team", "team_name", "group", "organisation", "organization"),
)


def teams_of(given: object, systems: Sequence[str]) -> dict[str, str]:
    """The team of each system: from ``{system: team}``, a table or file with both, or ``"tag"``, the beginning of its name.

    >>> teams_of("tag", ["ok8alx", "INQ-2", "INQ-3"])
    {'ok8alx': 'ok', 'INQ-2': 'INQ', 'INQ-3': 'INQ'}
    """
    if isinstance(given, str) and given == BY_TAG:
        # The letters before the first number or separator; all of the name if it begins with neither.
        return {system: re.split(r"[\d\W_]", system, maxsplit=1)[0] or system for system in systems}
    if isinstance(given, Mapping):
        team_of = {str(system): str(team) for system, team in given.items()}
    else:
        rows = list(read_rows(given))
        columns = list(dict.fromkeys(column for row in rows for column in row))
        named = [next((one for one in columns if plain(one) in names), None) for names in (_SYSTEMS, _TEAMS)]
        if None in named:
            what = "team" if named[0] else "system"
            raise InputError(f"teams: {columns} has no column {what!r}; rename the one that contains it.")
        system_key, team_key = map(str, named)
        team_of = {
            str(row[system_key]): str(row[team_key]) for row in rows if row.get(team_key) not in (None, "")
        }
    lacking = [system for system in systems if system not in team_of]
    if lacking:
        raise InputError(
            f"teams: there is no team for {several(lacking)}; add {'it' if len(lacking) == 1 else 'them'}, or choose teams='tag'."
        )
    return {system: team_of[system] for system in systems}


def best_of_teams(comparison: Comparison) -> Table:
    """One row per measure and team: its best run, its mean, and how many runs it has; the best team first."""
    teams, rows = comparison.teams or {}, []
    sizes = Counter(teams.values())
    for measure in comparison.measures:
        best: dict[str, str] = {}
        for system in comparison.ranked(measure):
            best.setdefault(teams[system], system)
        for i, (team, system) in enumerate([*best.items()][:MOST_TEAMS]):
            mean = f"{comparison.result(measure, system).mean:.4f}"
            rows.append([comparison.shown(measure) if i == 0 else "", team, system, mean, str(sizes[team])])
    hidden = len(sizes) - MOST_TEAMS
    note = f"{counted(hidden, 'more team')} not shown." if hidden > 0 else ""
    return Table(
        ["measure", "team", "best run", "mean", "runs"], rows, note, "The best run of each team", left=3
    )
