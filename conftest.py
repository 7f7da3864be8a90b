"""Examples in docstrings: those of a module's own docstring are the set-up of those of its functions."""

from __future__ import annotations

import doctest
import sys

import pytest


@pytest.fixture(autouse=True)
def set_up_of_the_module(request: pytest.FixtureRequest) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        names = request.node.dtest.globs
        told = sys.modules[names["__name__"]].__doc__
        for example in doctest.DocTestParser().get_examples(told or ""):
            exec(example.source, names)
