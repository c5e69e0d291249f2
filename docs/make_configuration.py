"""Writes docs/configuration.md from the models of the configuration. Run by scripts/docs; a test keeps the page up to date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklens.bench.config.model import Config
from ranklens.bench.config.syntax import model_at
from ranklens.cli.bench import EXAMPLE
from ranklens.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

PAGE = Path(__file__).parent / "configuration.md"

HEAD = """<!-- Generated from the models of the configuration by scripts/docs. Do not edit. -->
# Configuration

A benchmark in one YAML or TOML file: which retrievers to run, on which data, what to measure, which gates must hold, and what to write.

```bash
ranklens bench --init bench.yaml   # writes a commented example with every key
ranklens bench bench.yaml          # runs it; exit status 1 if a gate fails, 2 if the file has errors
```

A small example:

```yaml
data: {qrels: qrels.tsv, queries: queries.jsonl}
retrievers:
  - {name: bm25, retriever: my_search:bm25, k: 10}
  - {name: dense, retriever: my_search:make_dense(), k: 10, params: {model: small}, concurrency: 8, timeout: 10, retries: 2}
baseline: bm25
retrieval_metrics: {enabled_metrics: [ndcg@10, mrr, hit@5]}
gates: [ndcg@10 >= 0.4, ndcg@10 drop <= 0.02 @ 95%, failed <= 0]
outputs: {json: results.json, report: report.html, runs: runs}
```

- Paths are relative to the file. Modules are looked up in its folder first, then in the current folder, then among the installed packages.
- A retriever is a function, or anything else that [`Benchmark.run`](rag-tutorial.md) takes, as `module:name`. With `module:name()` or `factory: true` it is
  called first, with `params`, and must return the retriever. Otherwise `params` are passed to the function with every call.
- A retriever may also be an address, without any Python: `{name: es, url: "http://localhost:9200/docs/_search", body: {size: "{k}", query: {match: {text: "{query}"}}}}`.
  The answers of [common engines](traces.md#engines) are understood; for others, `id: results.*.doc.key` says where the ids are. Secrets come from the environment:
  `headers: {Authorization: "ApiKey ${ES_KEY}"}`. White space around a value is removed, and errors, logs and stored answers show `${ES_KEY}` in its place (values of
  under four letters are shown). Without `timeout`, a call waits for at most 60 seconds. Redirects are not followed.
- Every error names its line, its key (`retrievers[1].k`) and what is allowed; for an unknown key, the closest valid one. Nothing runs until the file is free of errors.
- **A configuration is code.** Reading it runs nothing (YAML tags cannot run code, and nothing is unpickled), but `retriever: module:function` is imported and
  called with whatever rights you have. Run only configurations that you trust. `ranklens bench --no-code` refuses all that name code or an address; run files are compared and
  gated as before.
- With `caching_enabled`, answers are kept in `outputs.store` and used again. An answer belongs to the retriever's code as far as RankLens sees it (the function, local
  modules that it imports, `params`), to `version`, `k` and the query. A changed index or remote service is not seen: change `version`, set `max_age`, or ask
  again with `ranklens bench --fresh`. If all answers of a system come from the store, the verdict and the gates say so, and how old the oldest is.
- If 20 calls in a row (`stop_after`) fail with the same error, the run stops; `--keep-going` asks on.
- `gates` is a list of rules, or the keys below; [Catch regressions](guard.md) explains rules and baselines.
- `null` means the default.

In Python:

```python
from ranklens.config import load

config = load({"data": {"qrels": "qrels.tsv", "runs": {"bm25": "bm25.txt"}}})  # or the path of a file
print(config.systems, [str(measure) for measure in config.measures])
```

```
['bm25'] ['R@5', 'P@5', 'RR']
```

`ranklens.config.run_config(config)` runs it and returns a result with `scores`, `comparison`, `benchmark`, `checks` and `passed`.
"""


def page() -> str:
    """The whole page as text."""
    example = EXAMPLE.read_text(encoding="utf-8").rstrip()
    parts = [HEAD, "## Keys\n", *_sections(Config, ""), "## The example\n", f"```yaml\n{example}\n```\n"]
    return "\n".join(parts)


def _sections(model: type[BaseModel], before: str) -> Iterator[str]:
    """A table of the keys of a model, then one for each key that has keys of its own."""
    inside = {key: model_at((key,), model) for key in _fields(model)}
    rows = [_row(key, field) for key, field in _fields(model).items() if inside[key] is None]
    if rows:
        title = f"### `{before.rstrip('.')}`\n\n{model.__doc__}\n\n" if before else ""
        yield f"{title}| key | default | meaning |\n| --- | --- | --- |\n" + "\n".join(rows) + "\n"
    for key, part in inside.items():
        if part is not None:
            yield from _sections(part, f"{before}{key}.")


def _fields(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _row(key: str, field: Any) -> str:
    meaning = field.description
    if key == "policy":
        meaning += " See [policies](policies.md)."
    return f"| `{key}` | {_default(field)} | {meaning} |"


def _default(field: Any) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value in (None, (), {}) or isinstance(value, Policy):
        return ""
    shown = f"[{', '.join(value)}]" if isinstance(value, tuple) else str(value)
    return f"`{shown.lower() if isinstance(value, bool) else shown}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
