"""Every public name has a docstring, and the examples that `make test` runs next to the tests are found."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import windrow
from windrow._plan.limits import LIMITS

ELSEWHERE = {"windrow.testing._definition", "windrow.kafka._producer"}
"""Modules with objects that represent others."""

SPARK_ONLY = {"windrow._spark.advance", "windrow._spark.batch", "windrow._spark.frame", "windrow._spark.types"}
MODULES = [
    module.name
    for module in pkgutil.walk_packages([str(Path(windrow.__file__).parent)], "windrow.")
    if module.name not in {"windrow._native", *SPARK_ONLY}
]


def test_the_examples_are_seen() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [importlib.import_module(name) for name in MODULES]
    examples = sum(len(test.examples) for module in modules for test in finder.find(module))
    assert len(MODULES) >= 30
    assert examples >= 100


@pytest.mark.parametrize("name", sorted({*windrow.__all__, *windrow.functions.__all__}))
def test_public_names_say_what_they_are(name: str) -> None:
    value = getattr(windrow, name)
    assert isinstance(value, str) or (value.__doc__ and "\n" not in value.__doc__.splitlines()[0])


def test_the_package_shows_its_public_names_only() -> None:
    assert dir(windrow) == sorted(windrow.__all__)
    with pytest.raises(AttributeError, match="module 'windrow' has no attribute 'nothing'"):
        windrow.nothing  # noqa: B018


def test_the_aggregates_are_in_a_module_of_their_own_and_at_the_top() -> None:
    assert not set(windrow.functions.__all__) & set(windrow.__all__)
    for name in windrow.functions.__all__:
        assert getattr(windrow, name) is getattr(windrow.functions, name)


def test_all_modules_but_a_few_are_private() -> None:
    public = {name for name in MODULES if not any(part.startswith("_") for part in name.split("."))}
    ran = {"windrow.kafka.ticker", "windrow.testing.replay"}
    packages = {f"windrow.{name}" for name in ("functions", "testing", "state", "kafka", "plot")}
    assert public == packages | ran


def test_a_type_checker_sees_no_names_that_are_made_up_at_run_time() -> None:
    seen = 0
    for module in (importlib.import_module(name) for name in ("windrow", *MODULES)):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            seen += isinstance(node, ast.FunctionDef) and node.name == "__getattr__"
            if isinstance(node, ast.Module | ast.ClassDef):
                named = [made.name for made in node.body if isinstance(made, ast.FunctionDef)]
                assert "__getattr__" not in named or module.__name__ in ELSEWHERE, module.__name__
    assert seen >= 4


PUBLIC = {
    called.__qualname__: called
    for owner in (windrow, windrow.functions, *(value for value in vars(windrow).values() if inspect.isclass(value)))
    for name, called in inspect.getmembers(owner, inspect.isroutine)
    if not name.startswith("_") and not inspect.ismethoddescriptor(called)  # of Python's exceptions
}


def test_the_public_calls_are_seen() -> None:
    calls = {"group_by", "sum", "reduce", "SessionWindows.with_gap", "WindowedData.agg"}
    calls |= {"SlidingWindows.with_time_difference"}
    assert calls <= set(PUBLIC)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_calls_have_an_example(name: str) -> None:
    assert doctest.DocTestParser().get_examples(PUBLIC[name].__doc__)


WORDS = {
    "op": ('emit("update")', 'late("emit")', 'left_out("emit")'),
    "emit=update": ('emit("update")',),
    "python": ("reduce", "aggregate"),
    "retention": ("retention=",),
    "start": ("start_from",),
    "rows": ("with_columns",),
}
LISTS = [
    ("docs/explanation/windows.md", "Refused:", {"with_columns", "rows"}, {"stream", "start"}),
    ("docs/explanation/streams.md", "Refused:", {"with_columns", "rows"}, set[str]()),
    ("docs/how-to/session-rules.md", "A stream refuses rules together with", {"rules"}, set[str]()),
]


@pytest.mark.parametrize(("page", "begins", "some", "none"), LISTS)
def test_a_page_lists_what_the_table_refuses(page: str, begins: str, some: set[str], none: set[str]) -> None:
    text = (Path(__file__).parents[3] / page).read_text(encoding="utf-8").partition(begins)[2]
    rows = [row for row in LIMITS if some & {*row} and not none & {*row}]
    refused = {word for row in rows for feature in {*row} - some for word in WORDS.get(feature, ())}
    assert {*re.findall("`([^`]+)`", re.split(r"\.\s", text)[0])} == refused
