"""Every measure, one module per family: pure functions over :class:`~ranklens.judging.judged.Judged`, NumPy only.

Importing a family registers its measures; the order here is that of the registry. A family says in ``TITLE`` and ``WHEN`` what it is
for. The registry loads :data:`FAMILIES`, which most people need, for the first name of a measure, and those :data:`ON_DEMAND` for a
name that is not among them, or for all.
"""

FAMILIES = ("precision", "average_precision", "gain", "cascade", "preference", "ntcir", "counts")
ON_DEMAND = (
    "fields",
    "user_models",
    "pairs",
    "diversity",
    "evidence",
    "coverage",
    "sampled",
    "exposure",
    "recommendation",
)
