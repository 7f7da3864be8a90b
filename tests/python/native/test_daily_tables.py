"""Daily jobs in tables of Delta and Iceberg that die before and after their commit: nothing is lost or doubled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ..harness.daily_tables import JobDiedError, check, program

deltalake = pytest.importorskip("deltalake")
pyiceberg = pytest.importorskip("pyiceberg")


@contextmanager
def dying(owner: Any, name: str, place: str) -> Iterator[None]:
    """A call of `owner.name` dies before or after it has done its work."""
    whole = getattr(owner, name)

    def dies(*given: Any, **options: Any) -> Any:
        if place == "after the commit":
            whole(*given, **options)
        raise JobDiedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, dies)
        yield


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_job_in_delta_that_dies(tmp_path: Path) -> None:
    recipe, path = program(), str(tmp_path / "runs")

    def rows() -> list[dict[str, Any]]:
        if not deltalake.DeltaTable.is_deltatable(path):
            return []
        found: list[dict[str, Any]] = deltalake.DeltaTable(path).to_pyarrow_table().to_pylist()
        return found

    def run(day: pa.Table, earlier: str | None, to: str) -> None:
        recipe["delta_run"](path, day, earlier, to)

    check(run, lambda place: dying(recipe["deltalake"], "write_deltalake", place), rows)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_job_in_iceberg_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = program()
    catalog = recipe["lake"]()

    def rows() -> list[dict[str, Any]]:
        if not catalog.table_exists("web.runs"):
            return []
        found: list[dict[str, Any]] = catalog.load_table("web.runs").scan().to_arrow().to_pylist()
        return found

    def run(day: pa.Table, earlier: str | None, to: str) -> None:
        recipe["iceberg_run"](catalog, day, earlier, to)

    # The data files are written; the catalog takes the commit or does not.
    check(run, lambda place: dying(type(catalog), "commit_table", place), rows)
