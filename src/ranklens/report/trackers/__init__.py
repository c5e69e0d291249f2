"""Results into experiment trackers: MLflow, Weights & Biases and TensorBoard.

``content`` decides what is logged and under which names, ``destinations`` finds the tracker, and one module per tracker hands it over.
"""
