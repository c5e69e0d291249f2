import functools
import subprocess
import sys
import textwrap

import pytest

from ranklens.retrieval.fingerprints import fingerprint


@pytest.fixture
def project(tmp_path):
    (tmp_path / "package").mkdir()
    files = {
        "retriever.py": "import json\nfrom embedder import dense\nfrom package import deep\ndef search(text, k):\n    return dense(text)\n",
        "embedder.py": "def dense(text):\n    from late import later\n    return later(text)\n",
        "late.py": "def later(text):\n    return ['a']\n",
        "other.py": "x = 1\n",
        "package/__init__.py": "",
        "package/deep.py": "from . import deeper\nfrom .deeper import value\n",
        "package/deeper.py": "value = 1\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def seen_by_a_new_process(folder, expression="search"):
    code = f"""
    from functools import partial
    from ranklens.retrieval.fingerprints import fingerprint
    from retriever import *
    print(fingerprint({expression}))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["retriever.py", "embedder.py", "late.py", "package/__init__.py", "package/deep.py", "package/deeper.py"])  # fmt: skip
def test_any_change_of_local_code_is_seen(project, name):
    before = seen_by_a_new_process(project)
    with (project / name).open("a") as file:
        file.write("\n# changed\n")
    assert seen_by_a_new_process(project) != before


def test_what_is_not_imported_does_not_matter(project):
    before = seen_by_a_new_process(project)
    (project / "other.py").write_text("x = 2\n")
    assert seen_by_a_new_process(project) == before


def test_the_folder_does_not_matter(project, tmp_path_factory):
    before = seen_by_a_new_process(project)
    moved = project.rename(tmp_path_factory.mktemp("elsewhere") / "project")
    assert seen_by_a_new_process(moved) == before


def test_objects_are_seen_by_class_and_attributes(project):
    (project / "retriever.py").write_text(
        "class Search:\n    def __init__(self, model, top):\n        self.model, self.options = model, {'top': top}\n"
        "    def __call__(self, text, k):\n        return []\n"
    )
    one = seen_by_a_new_process(project, "Search('small', 5)")
    assert one == seen_by_a_new_process(project, "Search('small', 5)")
    assert one != seen_by_a_new_process(project, "Search('large', 5)")
    assert one != seen_by_a_new_process(project, "Search('small', 6)")
    assert one != seen_by_a_new_process(project, "Search('small', 5).__call__")


def from_a_notebook(source, **names):
    """A function without a file."""
    space = {"__name__": "__nowhere__", **names}
    exec(textwrap.dedent(source), space)
    return space["search"]


def test_functions_without_a_file_are_seen_by_their_code():
    source = "def search(text, k):\n    return helper(text)[:LIMIT]\n"
    helper, other = from_a_notebook("def search(t): return [t]"), from_a_notebook("def search(t): return []")
    one = fingerprint(from_a_notebook(source, helper=helper, LIMIT=5))
    assert one == fingerprint(from_a_notebook(source, helper=helper, LIMIT=5))
    assert one != fingerprint(from_a_notebook(source, helper=helper, LIMIT=6))
    assert one != fingerprint(from_a_notebook(source, helper=other, LIMIT=5))
    assert one != fingerprint(from_a_notebook(source.replace("text)", "text, 1)"), helper=helper, LIMIT=5))


def test_closures_defaults_and_partial_arguments_are_seen():
    def make(size, default=1):
        def search(text, k, boost=default):
            return [text] * size

        return search

    variants = [
        make(1),
        make(2),
        make(1, 2),
        functools.partial(make(1), boost=3),
        functools.partial(make(1), k=3),
    ]
    assert len({fingerprint(v) for v in variants}) == len(variants)
    assert fingerprint(make(1)) == fingerprint(make(1))


def test_what_refers_to_itself_or_is_huge_ends():
    class Node:
        def __call__(self, text):
            return []

    node = Node()
    node.me, node.many = node, list(range(10**6))
    assert fingerprint(node) == fingerprint(node)


def test_of_objects_of_libraries_only_the_settings_count():
    from concurrent.futures import Future  # stands for a client: it has locks and state inside

    one, other = Future(), Future()
    assert fingerprint(one) == fingerprint(other)
    other.search_kwargs = {"k": 5}
    assert fingerprint(one) != fingerprint(other)


def test_builtin_and_compiled_callables_have_one():
    assert fingerprint(len) != fingerprint(sorted)


def test_short_lived_objects_are_not_taken_for_each_other():
    """Entries of a dict are made on the fly; one may get the id of another that is gone."""
    settings = {f"name{i}": [i, {"deep": (i, str(i))}] for i in range(50)}
    assert len({fingerprint(functools.partial(print, (dict(settings), i % 1))) for i in range(200)}) == 1


def test_an_installed_module_hides_a_local_one_that_comes_later_on_the_path(project):
    (project / "later").mkdir()
    (project / "later" / "json.py").write_text("x = 1\n")
    expression = "(__import__('sys').path.append('later'), search)[1]"
    before = seen_by_a_new_process(project, expression)
    (project / "later" / "json.py").write_text("x = 2\n")
    assert seen_by_a_new_process(project, expression) == before
