"""Results and collections in the shapes of others: MTEB's result files, the Hub's model cards, ir_measures, ir_datasets.

Nothing here talks to a network by itself, and none of these packages is needed for the rest.
"""
