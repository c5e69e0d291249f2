"""The command line: ``app`` puts the commands together, and each command is one module.

``options`` and ``output`` hold what commands share; mistakes become one sentence and an exit state in ``main``.
"""
