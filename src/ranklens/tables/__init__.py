"""Results as text: one table model, rendered for terminals, Markdown, LaTeX and CSV.

The HTML page and the charts are in :mod:`ranklens.report`.
"""
