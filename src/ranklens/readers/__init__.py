"""What users hand in, brought into the two shapes that :mod:`ranklens.judging` takes: dicts of dicts, or frames."""
