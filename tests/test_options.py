"""Each option of asking retrievers is described once; signatures, configurations and commands follow."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import fields
from inspect import signature
from typing import Any, get_type_hints

import numpy as np
import pytest

import ranklens as rl
from ranklens.bench.config.model import Config, Performance, Retriever, StatisticalAnalysis
from ranklens.comparison.options import CompareArguments, CompareOptions, ComparisonArguments, Test
from ranklens.metrics import Measure
from ranklens.options import descriptions
from ranklens.policy import Policy
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


def test_a_configuration_can_set_every_option_of_a_comparison():
    keys = {**Config.model_fields, "alpha": StatisticalAnalysis.model_fields["alpha_level"]}
    described = descriptions(CompareOptions)
    assert {*described} == {field.name for field in fields(CompareOptions)} - {"queries"}
    for name, option in described.items():
        assert option.help, name
        assert keys["seed" if name == "rng" else name].description == option.key, name


def test_the_types_of_the_arguments_of_comparisons_are_those_of_the_options():
    names = {"Measure": Measure, "Rng": int | np.random.Generator | None}
    arguments = get_type_hints(CompareArguments, localns=names)
    assert arguments == get_type_hints(CompareOptions, localns=names) | get_type_hints(Policy)
    assert get_type_hints(ComparisonArguments, localns=names).items() <= arguments.items()
    assert get_type_hints(CompareOptions, localns=names)["test"] == Test | None


def test_a_signature_shows_every_option_of_a_comparison():
    for function in (rl.compare, rl.compare_scores):
        shown = {one.name: one.default for one in signature(function).parameters.values()}
        assert {one.name: one.default for one in fields(CompareOptions)}.items() <= shown.items()
    with pytest.raises(TypeError, match="unexpected keyword argument 'tets'"):
        rl.compare_scores({"a": {"q": {"RR": 1.0}}}, tets="t")


def test_the_documentation_names_every_choice_of_a_comparison():
    for name, option in descriptions(CompareOptions).items():
        text = " ".join((rl.compare.__doc__ or "").split())
        assert name in ("alpha", "level", "correction") or f"``{name}" in text, name
        assert [
            choice for choice in option.choices if not re.search(rf"\b{choice}\b", text + option.help)
        ] == []


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
