"""A measure's value for one query, step by step: ``explain()`` → :class:`~ranklens.report.explanation.explain.Explanation`.

No formula is written twice: the registered measure is applied to the ranking, cut after each rank.
"""
