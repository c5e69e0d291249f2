"""Each option of asking retrievers is described once; signatures, configurations and commands follow."""

import asyncio
from collections.abc import Callable
from dataclasses import fields
from typing import Any, get_type_hints

import pytest

import ranklens as rl
from ranklens.bench.config.model import Performance, Retriever
from ranklens.options import descriptions
from ranklens.retrieval.asking import AskArguments, Asking, AskOptions

# What a configuration has no key for: what is seen of the code or chosen for one run alone, on the command line or in Python.
NO_KEYS = {"depends_on", "fresh", "keep_going", "resume", "progress"}


def test_the_types_of_keyword_arguments_are_those_of_the_options():
    names = {"Any": Any, "Callable": Callable}
    assert get_type_hints(AskArguments, localns=names) == get_type_hints(AskOptions, localns=names)


def test_a_configuration_can_set_every_option_of_a_retriever():
    keys = {**Performance.model_fields, **Retriever.model_fields}
    described = {name for name, one in descriptions(AskOptions).items() if one.key}
    assert described == {field.name for field in fields(AskOptions)} - NO_KEYS
    for name in described:
        assert keys[name].description == descriptions(AskOptions)[name].key


def test_a_command_can_set_how_retrievers_are_asked_this_time():
    this_time = {"code", "gates", "frozen"}  # which are not about single calls
    asked = {field.name: field.default for field in fields(Asking) if field.name not in this_time}
    usual = AskOptions()
    assert asked == {name: getattr(usual, name) for name in asked}
    assert {*descriptions(Asking)} == {*asked, "code"}


def test_an_option_that_does_not_exist_is_refused_with_the_nearest():
    bench = rl.Benchmark({"q": "why?"}, {"q": {"d": 1}})
    refused = "There is no option 'retry': did you mean 'retries'"
    with pytest.raises(rl.InputError, match=refused):
        bench.run("mine", lambda text: ["d"], retry=1)
    with pytest.raises(rl.InputError, match=refused):
        asyncio.run(bench.arun("mine", lambda text: ["d"], retry=1))
