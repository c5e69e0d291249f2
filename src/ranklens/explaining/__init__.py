"""One query taken apart: its documents, a measure cut after each rank, and how each measure is shown at work."""
