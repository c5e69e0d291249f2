"""Evaluations made of the same parts: one ranking, items, pipelines, sessions, recommenders, and checks of data.

Each module serves one kind of user and adds no formula of its own.
"""
