"""Results to look at: the HTML report, and charts for notebooks and papers.

Both draw the numbers of :mod:`~ranklens.report.chart_data`; text tables are in :mod:`ranklens.tables`.
"""
