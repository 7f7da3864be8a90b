"""Cogroup tests: tables of several inputs, queries over them, and checks against the oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ..oracle.cogroup import answer_of_input, together
from ..oracle.records import by_key
from .tables import Call, Rows, Windows, assert_answers, records


@dataclass(frozen=True)
class InputCall(Call):
    """One aggregate of a cogroup. Its columns name their input."""

    def of(self, rows: Sequence[Any]) -> Any:
        """The oracle's answer over the rows of one window."""
        options = {"ignore_nulls": self.ignore_nulls, "digits": self.digits, "percentage": self.percentage}
        options["most"] = self.most
        return answer_of_input(self.function, rows, *self.columns, where=self.where, **options)


def of_input(name: str, aggregates: Mapping[str, Call]) -> dict[str, Call]:
    """Aggregates over the columns of one input. An aggregate without a column counts the records of all inputs."""
    return {
        f"{name}_{key}": InputCall(
            each.function,
            tuple(f"{name}.{column}" for column in each.columns),
            each.ignore_nulls,
            each.digits,
            each.percentage,
            None if each.where is None else f"{name}.{each.where}",
            each.most,
        )
        for key, each in aggregates.items()
    }


def counts(names: Sequence[str]) -> dict[str, Call]:
    """The records of all inputs together, and of each input."""
    return {"all": InputCall("count"), **{f"n_{name}": InputCall("count", (f"{name}.*",)) for name in names}}


def assert_cogroup(
    got: Rows, tables: Mapping[str, pa.Table], keys: Sequence[str], windows: Windows, aggregates: Mapping[str, Call]
) -> None:
    """Asserts that the result has exactly the oracle's windows of all records, with the oracle's values."""
    joined = together({name: records(table, keys) for name, table in tables.items()})
    expected = {
        (key, start, end): rows for key, members in by_key(joined).items() for start, end, rows in windows(members)
    }
    assert_answers(got, expected, aggregates)
