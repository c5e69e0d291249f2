"""The same measures on a Spark cluster: :func:`ranklens.evaluate` and :func:`ranklens.compare` take Spark DataFrames.

Rows are judged where they are, many queries at a time, by the same :func:`ranklens.judge` and the same measures as anywhere else;
only rows of queries that are spread over several partitions are shuffled. Small runs come to the driver. Needs the extra ``spark``.
"""
