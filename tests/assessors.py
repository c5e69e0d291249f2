"""Published judgments of several assessors, with what should come out."""

from typing import NamedTuple

import numpy as np

_ = np.nan


class Example(NamedTuple):
    grades: np.ndarray
    alpha: dict[str, float]
    digits: float


KRIPPENDORFF = [  # assessors × documents
    Example(  # Wikipedia, three coders
        np.array(
            [
                [_, _, _, _, _, 3, 4, 1, 2, 1, 1, 3, 3, _, 3],
                [1, _, 2, 1, 3, 3, 4, 3, _, _, _, _, _, _, _],
                [_, _, 2, 1, 3, 4, 4, _, 2, 1, 1, 3, 3, _, 4],
            ]
        ),
        {"nominal": 0.691358, "ordinal": 0.806721, "interval": 0.810845},
        1e-6,
    ),
    Example(  # Krippendorff (2011), four observers
        np.array(
            [
                [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
                [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
                [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
                [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
            ]
        ),
        {"nominal": 0.743, "ordinal": 0.815},
        6e-4,
    ),
]


def judgments(grades):
    """One set per assessor; each document is that of a query of its own."""
    return [
        {f"q{i}": {"d": int(grade)} for i, grade in enumerate(row) if not np.isnan(grade)} for row in grades
    ]


# Dawid and Skene (1979): 45 patients, five anaesthetists of whom the first saw each three times, four classes. For each patient the three answers of
# the first, then those of the others.
ANAESTHETISTS = [
    "1111111",
    "3334334",
    "1122122",
    "2223121",
    "2223222",
    "2223322",
    "1222111",
    "3333433",
    "2222223",
    "2322223",
    "4444444",
    "2223343",
    "1111111",
    "2223212",
    "1211111",
    "1112111",
    "1111111",
    "1111111",
    "2222221",
    "2221322",
    "2222222",
    "2222221",
    "2223222",
    "2212222",
    "1111111",
    "1111111",
    "2322222",
    "1111111",
    "1111111",
    "1121121",
    "1111111",
    "3333233",
    "1111111",
    "2222222",
    "2223232",
    "4334343",
    "2212232",
    "2323233",
    "3333432",
    "1111111",
    "1111111",
    "1212111",
    "2322222",
    "1211111",
    "2222222",
]


def anaesthetists():
    """Patients × observers × classes."""
    found = np.zeros((len(ANAESTHETISTS), 5, 4))
    for patient, answers in enumerate(ANAESTHETISTS):
        for place, answer in enumerate(answers):
            found[patient, max(place - 2, 0), int(answer) - 1] += 1
    return found
