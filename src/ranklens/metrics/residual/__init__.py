"""What unjudged documents leave open: the lowest and highest value that complete judgments could give.

``completion`` fills grades in for unjudged documents, ``ranges`` finds the best and the worst way to do so, ``cumulated_gain``
does it for nDCG, whose ideal changes with the grades.
"""
