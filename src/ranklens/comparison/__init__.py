"""Is one system really better than another? ``compare()`` → :class:`~ranklens.comparison.compare.Comparison`.

Systems are aligned on their queries, tested in pairs, grouped, and described in words that claim no more than the tests support.
"""
