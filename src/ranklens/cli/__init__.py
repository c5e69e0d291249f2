"""The command line: ``app`` puts the commands together, and each command is one module.

``commands`` says what each takes, ``options``, ``reading`` and ``comparison_options`` hold what several share; in ``main``, mistakes
become one sentence and an exit status.
"""
