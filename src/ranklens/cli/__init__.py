"""The command line: ``app`` puts the commands together, and each command is one module.

``options`` and ``settings`` hold what commands share; in ``main``, mistakes become one sentence and an exit status.
"""
