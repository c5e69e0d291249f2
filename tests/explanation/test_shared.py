"""What failing questions have in common, against Fisher's exact test."""

import random

import pytest
from scipy.stats import fisher_exact

import ranklens as rl
from ranklens.report.explanation.shared import shared_by


def questions(seed):
    draw = random.Random(seed)
    words = ["vat", "reset", "invoice", "hello", "you", "card", "please"]
    texts = {f"q{i}": " ".join(draw.choices(words, k=draw.randint(1, 6))) for i in range(60)}
    fields = {query: {"type": draw.choice(["how", "fact"]), "id": query, "tags": ["x"]} for query in texts}
    failing = {query for query in texts if draw.random() < (0.8 if "vat" in texts[query] else 0.2)}
    return texts, fields, failing


def holm(p_values):
    """Step by step, as in Holm's paper."""
    rising, least, out = sorted(p_values, key=p_values.get), 0.0, {}
    for place, name in enumerate(rising):
        least = max(least, min(1.0, (len(rising) - place) * p_values[name]))
        out[name] = least
    return out


@pytest.mark.parametrize("seed", range(4))
def test_p_is_fishers(seed):
    texts, fields, failing = questions(seed)
    members = {}
    for query, text in texts.items():
        for word in {*text.split()}:
            members.setdefault(("word", word), set()).add(query)
        members.setdefault(("type", fields[query]["type"]), set()).add(query)
    sizes = sorted(len(text.split()) for text in texts.values())
    found = {(one.what, one.value): one for one in shared_by([*texts], failing, texts, fields)}
    assert {what for what, _ in found} <= {"word", "type", "length"}
    assert sizes[0] < sizes[-1]
    for name in [name for name in found if name[0] == "length"]:
        least = (
            0
            if "up to" in name[1]
            else int(name[1].removeprefix("more than ").split()[0]) + ("more" in name[1])
        )
        most = 99 if "more" in name[1] else int(name[1].split(" words")[0].split()[-1])
        members[name] = {query for query, text in texts.items() if least <= len(text.split()) <= most}
    raw = {}
    for name, one in found.items():
        group = members[name]
        assert (one.failing, one.queries) == (len(group & failing), len(group))
        a, b = len(group & failing), len(group - failing)
        raw[name] = fisher_exact(
            [[a, b], [len(failing) - a, len(texts) - len(failing) - b]], "greater"
        ).pvalue
    # Those that fail less often have larger p-values, so they come last in Holm's order.
    looked_at = 3 + len(members) - len([name for name in found if name[0] == "length"])
    scaled = {name: min(1.0, looked_at * p) for name, p in raw.items()}
    first = min(raw, key=raw.get)
    assert found[first].p == pytest.approx(scaled[first])
    assert all(one.p >= holm(raw)[name] - 1e-12 for name, one in found.items())


def test_only_what_is_no_chance_is_shown():
    qrels = {f"q{i}": {"a"} for i in range(40)}
    texts = {query: f"{'vat' if i < 12 else 'card'} number {i}" for i, query in enumerate(qrels)}
    run = {query: ["x" if "vat" in texts[query] else "a"] for query in qrels}
    found = rl.evaluate(qrels, run, "hit@1").failing(queries=texts)
    assert (found.shared[0].what, found.shared[0].value) == ("word", "vat")
    table = found.tables()[-1]
    assert table.rows == [["word", "vat", "12 of 12", "100%", "< 0.001"]]
    assert table.note.startswith("30% of all 40 queries fail")
    by_chance = rl.evaluate(qrels, {q: ["x" if i % 3 else "a"] for i, q in enumerate(qrels)}, "hit@1")
    assert len(by_chance.failing(queries=texts).tables()) == 2
    assert rl.evaluate(qrels, run, "hit@1").failing().shared == ()


def test_fields_and_scripts():
    rows = [
        {"id": f"q{i}", "question": "где это?" if i < 10 else "where is it?", "language": "ru" if i < 10 else "en", "expected": ["a"]}
        for i in range(30)
    ]  # fmt: skip
    log = [{"id": row["id"], "retrieved": ["x" if row["language"] == "ru" else "a"]} for row in rows]
    found = rl.evaluate(rows, log, "hit@1").failing().shared
    assert {(one.what, one.value) for one in found} >= {
        ("language", "ru"),
        ("script", "cyrillic"),
        ("word", "где"),
    }
