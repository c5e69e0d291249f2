"""Judgments themselves: how far assessors agree, what they say together, whether a model can judge, and whether a collection can be reused.

``ratings`` brings several sets of judgments together; ``coefficients`` are the formulas of agreement, ``assessors`` the models of who errs how.
``nuggets`` and ``support`` score generated answers by what assessors said of them.
"""
