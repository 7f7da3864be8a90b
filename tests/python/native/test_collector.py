"""Python's garbage collector in a worker of Spark: modules are kept once, and again where some were loaded since."""

from __future__ import annotations

import gc
import sys
from types import ModuleType

import pyspark
import pytest

from windrow._folds import collector


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the collector was asked for; nothing of it is done, as this process is no worker."""
    arguments: list[str] = []
    monkeypatch.setattr(gc, "collect", lambda: arguments.append("collect"))
    monkeypatch.setattr(gc, "freeze", lambda: arguments.append("freeze"))
    monkeypatch.setattr(collector, "_modules", 0)
    return arguments


def test_modules_are_kept_once_in_a_task_of_spark(calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark.TaskContext, "get", lambda: object())
    collector.keep_modules()
    # Garbage is collected first: what is kept is never looked at again.
    assert calls == ["collect", "freeze"]
    collector.keep_modules()
    assert calls == ["collect", "freeze"]
    monkeypatch.setitem(sys.modules, "loaded_since", ModuleType("loaded_since"))
    collector.keep_modules()
    assert calls == ["collect", "freeze"] * 2


def test_without_a_task_nothing_is_kept(calls: list[str]) -> None:
    collector.keep_modules()
    assert calls == []
