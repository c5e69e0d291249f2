"""The trec_eval drop-in: its flags, names, order and formatting. All values come from the registry.

The pytrec_eval drop-in is :mod:`ranklens.pytrec_eval`.
"""
