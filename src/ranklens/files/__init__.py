"""Files → judgments and runs, and back: every format recognised, read in blocks, with line numbers in errors.

:mod:`~ranklens.files.formats` recognises a file and chooses its reader; ``writing`` writes, ``lint`` checks.
"""
