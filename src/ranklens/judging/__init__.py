"""Rankings and judgments → :class:`~ranklens.judging.judged.Judged`: where the judged documents are in each ranking.

Every input ends here, once, whatever its shape; every measure starts here. :func:`~ranklens.judging.assembly.judge` is the way in.
"""
