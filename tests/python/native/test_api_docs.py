"""Every public name has a docstring, and the examples that `make test` runs beside the tests are found."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import windrow

SPARK_ONLY = {"dataframe", "schema"}
MODULES = [
    module.name
    for module in pkgutil.iter_modules([str(Path(windrow.__file__).parent)])
    if module.name not in {"_native", *SPARK_ONLY}
]


def test_the_examples_are_seen() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [importlib.import_module(f"windrow.{name}") for name in MODULES]
    examples = sum(len(test.examples) for module in modules for test in finder.find(module))
    assert len(MODULES) >= 10
    assert examples >= 20


@pytest.mark.parametrize("name", windrow.__all__)
def test_public_names_say_what_they_are(name: str) -> None:
    value = getattr(windrow, name)
    assert isinstance(value, str) or (value.__doc__ and "\n" not in value.__doc__.splitlines()[0])
