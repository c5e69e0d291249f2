"""Files → judgments and runs, and back: every format recognised, read in blocks, with line numbers in errors.

:mod:`~ranklens.data.files.collection` reads judgments with the runs that go with them, :mod:`~ranklens.data.files.formats` recognises
a file and chooses its reader; ``writing`` converts, ``output`` writes.
"""
