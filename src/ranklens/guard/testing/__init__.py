"""Retrieval quality in a test suite: the plugin that pytest loads, and its fixture ``retrieval``.

``plugin`` holds pytest's hooks and loads nothing heavy, ``retrieval`` is what tests call.
"""
