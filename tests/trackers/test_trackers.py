"""Results in trackers, read back with their own tools; those that are not installed are skipped."""

import csv
import io
import json
import struct
import sys
import time

import pytest

import ranklens as rl
from ranklens.report.trackers.content import plain_name, plain_names

pytestmark = pytest.mark.filterwarnings("ignore")  # of the trackers
QRELS = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
RUN = {"q1": ["a", "b"], "q2": ["a", "b"], "q3": ["c"]}


@pytest.fixture
def scores():
    return rl.evaluate(QRELS, RUN, ["ndcg@10", "RR", "num_ret"])


def expected(scores, before=""):
    """Mean, low and high of each measure under the names that trackers get."""
    around = {name: scores.interval(name) for name in ("nDCG@10", "RR")}
    found = {"nDCG_at_10": scores.mean["nDCG@10"], "RR": scores.mean["RR"], "NumRet": 5.0}
    for name, plain in (("nDCG@10", "nDCG_at_10"), ("RR", "RR")):
        found |= {f"{plain}_low": around[name].low, f"{plain}_high": around[name].high}
    return {f"{before}{name}": value for name, value in found.items()}


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("nDCG@10", "nDCG_at_10"),
        ("RR", "RR"),
        ("P(rel=2)@5", "P_rel_2_at_5"),
        ("RBP(p=0.8)", "RBP_p_0_8"),
        ("nDCG(gain=exp)@10", "nDCG_gain_exp_at_10"),
        ("dense/größe 2", "dense_größe_2"),
    ],
)
def test_names_that_every_tracker_accepts(name, plain):
    assert plain_name(name) == plain


def test_every_measure_keeps_a_name_of_its_own():
    names = [str(measure) for measure in rl.measures()]
    assert len({*plain_names(names).values()}) == len(names)


# MLflow


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    module = pytest.importorskip("mlflow")
    before = module.get_tracking_uri()
    module.set_tracking_uri(tmp_path.joinpath("mlruns").as_uri())
    yield module
    module.set_tracking_uri(before)


def test_mlflow(mlflow, scores):
    with mlflow.start_run() as run:
        scores.log_to("mlflow", step=3)
    client = mlflow.MlflowClient()
    found = client.get_run(run.info.run_id).data
    assert found.metrics == pytest.approx(expected(scores))
    history = client.get_metric_history(run.info.run_id, "nDCG_at_10")
    assert [(point.step, point.value) for point in history] == [(3, scores.mean["nDCG@10"])]
    assert found.tags["ranklens.averaged_over"] == scores.note
    paths = {artifact.path for artifact in client.list_artifacts(run.info.run_id, "ranklens")}
    assert paths == {"ranklens/per_query-3.csv", "ranklens/report-3.html"}
    table = mlflow.artifacts.load_text(f"{run.info.artifact_uri}/ranklens/per_query-3.csv")
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["query"] for row in rows] == ["q1", "q2", "q3"]
    assert [float(row["RR"]) for row in rows] == [1.0, 0.5, 1.0]
    assert "<html" in mlflow.artifacts.load_text(f"{run.info.artifact_uri}/ranklens/report-3.html")


def test_mlflow_without_a_run_gets_one_that_ends(mlflow, scores):
    scores.log_to("mlflow", name="dense v2", report=False)
    assert mlflow.active_run() is None
    run = mlflow.last_active_run()
    assert run.info.status == "FINISHED"
    assert run.data.metrics == pytest.approx(expected(scores, "dense_v2/"))
    assert [a.path for a in mlflow.MlflowClient().list_artifacts(run.info.run_id, "ranklens")] == [
        "ranklens/dense_v2"
    ]


# Weights & Biases, offline


def written(path):
    """The records of a file of W&B, which is a log of LevelDB: blocks of 32 KB, pieces of records with a head of 7 bytes."""
    content = path.read_bytes()
    at, record = 7, b""  # after the head of the file
    while at + 7 <= len(content):
        if 32768 - at % 32768 < 7:  # the rest of a block is empty
            at += 32768 - at % 32768
            continue
        size, kind = struct.unpack("<HB", content[at + 4 : at + 7])
        record += content[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # whole, or the last piece
            yield record
            record = b""


def logged(folder):
    """What an offline run of W&B holds: the last step of its history, its summary, and its artifacts."""
    from wandb.proto import wandb_internal_pb2

    history, summary, artifacts = {}, {}, []
    for _ in range(100):  # another process writes the file, until the record that the run has ended
        data = list(written(next(folder.glob("wandb/offline-run-*/*.wandb"))))
        records = [wandb_internal_pb2.Record.FromString(one) for one in data]
        if any(record.WhichOneof("record_type") == "exit" for record in records):
            break
        time.sleep(0.1)
    for record in records:
        for item in record.history.item:
            history["/".join(item.nested_key) or item.key] = json.loads(item.value_json)
        for item in record.summary.update:
            summary["/".join(item.nested_key) or item.key] = json.loads(item.value_json)
        name = record.request.log_artifact.artifact.name or record.artifact.name
        artifacts += [name] if name.startswith("ranklens") else []
    return history, summary, artifacts


@pytest.fixture
def wandb(tmp_path, monkeypatch):
    module = pytest.importorskip("wandb")
    for name, value in {
        "MODE": "offline",
        "DIR": str(tmp_path),
        "SILENT": "true",
        "DATA_DIR": str(tmp_path),
    }.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    module.teardown()  # it reads the environment once
    yield module
    module.teardown()


@pytest.mark.parametrize("own", [True, False], ids=["its own run", "the user's run"])
def test_wandb(wandb, scores, tmp_path, own):
    if own:
        scores.log_to("wandb", step=2)
    else:
        with wandb.init(project="theirs") as run:
            scores.log_to(run, step=2)
    history, summary, artifacts = logged(tmp_path)
    numbers = {name: value for name, value in history.items() if name in expected(scores)}
    assert numbers == pytest.approx(expected(scores))
    assert history["_step"] == 2
    assert history["per_query/_type"] == "table-file"
    table = json.loads(
        next(tmp_path.glob("wandb/offline-run-*/files/media/table/per_query*.json")).read_text()
    )
    assert table["columns"] == ["query", "ndcg@10", "RR", "num_ret"]
    assert [row[2] for row in table["data"]] == [1.0, 0.5, 1.0]
    assert summary["averaged_over"] == scores.note
    assert artifacts == ["ranklens-report"]
    assert wandb.run is None


# TensorBoard


def events(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder))
    found.Reload()
    return found


def test_tensorboard(scores, tmp_path):
    pytest.importorskip("tensorboardX")
    pytest.importorskip("tensorboard")
    for step in (1, 2):
        scores.log_to(f"tensorboard:{tmp_path / 'logs'}", step=step)
    found = events(tmp_path / "logs")
    read = {name: [(e.step, e.value) for e in found.Scalars(name)] for name in found.Tags()["scalars"]}
    assert {*read} == {*expected(scores)}
    for name, value in expected(scores).items():
        assert read[name] == [(1, pytest.approx(value, rel=1e-6)), (2, pytest.approx(value, rel=1e-6))]
    assert "nDCG_at_10_by_query" not in found.Tags()["histograms"]  # under the name that was asked for
    assert "ndcg_at_10_by_query" in found.Tags()["histograms"]
    text = found.Tensors("per_query/text_summary")[0].tensor_proto.string_val[0].decode()
    assert "| q2 | 0.63" in text
    assert {path.name for path in (tmp_path / "logs").glob("*.html")} == {"report-1.html", "report-2.html"}


def test_a_writer_of_the_users_own_stays_open(scores, tmp_path):
    writer = pytest.importorskip("tensorboardX").SummaryWriter(str(tmp_path))
    scores.log_to(writer, step=1, report=False)
    writer.add_scalar("later", 1.0, 2)
    writer.close()
    pytest.importorskip("tensorboard")
    assert {"nDCG_at_10", "later"} <= {*events(tmp_path).Tags()["scalars"]}


# Mistakes


@pytest.mark.parametrize(
    ("tracker", "message"),
    [
        ("mlfow", "no tracker 'mlfow': did you mean 'mlflow'"),
        ("mlflow:here", "no tracker 'mlflow:here'"),
        ("tensorboard:", "no tracker 'tensorboard:'"),
        (7, "The tracker is an int; pass 'mlflow', 'wandb', 'tensorboard', a W&B run, or a SummaryWriter"),
    ],
)
def test_trackers_that_do_not_exist(scores, tracker, message):
    with pytest.raises(rl.InputError, match=message):
        scores.log_to(tracker)


@pytest.mark.parametrize(
    ("tracker", "package"), [("mlflow", "mlflow"), ("wandb", "wandb"), ("tensorboard", "tensorboardX")]
)
def test_a_tracker_that_is_not_installed(scores, tracker, package, monkeypatch):
    for name in ("mlflow", "wandb", "tensorboardX", "torch.utils.tensorboard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        rl.MissingExtraError, match=f"needs {package}, which is not installed: pip install {package}"
    ):
        scores.log_to(tracker)


def test_a_configuration_tells_of_a_missing_tracker_before_it_runs(tmp_path, monkeypatch):
    from ranklens.bench.config import load, run_config

    monkeypatch.setitem(sys.modules, "wandb", None)
    content = {"data": {"qrels": "none.txt", "runs": {"a": "none.txt"}}, "outputs": {"log_to": ["wandb"]}}
    with pytest.raises(rl.MissingExtraError, match="pip install wandb"):
        run_config(load(content, folder=tmp_path))
    with pytest.raises(rl.InputError, match=r"outputs.log_to: There is no tracker 'neptune'"):
        load({**content, "outputs": {"log_to": ["neptune"]}})
