"""What users hand in is recognised at the doors alone; everything behind them knows its types."""

from pathlib import Path

import ranklens

SOURCE = Path(ranklens.__file__).parent
# Objects of users or of other libraries come in here; nothing is asked of what RankLens itself has made.
DOORS = {
    "bench/config/callables.py",
    "bench/demo/corpus.py",
    "data/files/pieces.py",
    "data/files/svmlight.py",
    "data/readers/engine_responses.py",
    "data/readers/frames.py",
    "data/readers/mappings.py",
    "data/readers/objects.py",
    "data/readers/records.py",
    "data/readers/retrieved.py",
    "models/embeddings/coarse_scores.py",
    "models/training/evaluator.py",
    "retrieval/adapters.py",
    "retrieval/workers.py",
    "spark/collecting.py",
}
# What this platform, this version of Python or of a library can do.
PLATFORM = {
    "cli/app.py",
    "data/files/forking.py",
    "data/files/sources.py",
    "guard/testing/plugin.py",
    "process.py",
    "retrieval/loops.py",
}


def test_only_doors_ask_what_an_object_has():
    asking = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "hasattr(" in path.read_text("utf-8")
    }
    assert asking <= DOORS | PLATFORM
