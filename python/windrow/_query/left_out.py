"""The option that returns the records that are in no window."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Self, get_args

from windrow._arguments.errors import bad_type, bad_value, unknown_word
from windrow._plan.input import Result
from windrow._plan.plan import LeftOutPolicy


class LeftOutRecords(Generic[Result]):
    """The method of `WindowedData` that returns the records that are in no window."""

    @abstractmethod
    def _with(self, **chosen: Any) -> Self:
        """The same with these options."""

    @abstractmethod
    def _checked_op(self, adds: str) -> Self:
        """The same. Raises `ValueError` for a key with the name of the column `op`."""

    def left_out(self, policy: LeftOutPolicy, *, columns: Sequence[str] | None = None) -> Self:
        """Chooses what happens to records in no window: `"drop"` (the default) counts them, `"emit"` returns them.

        With `"emit"` each such record becomes a separate row, with `left_out` in the column `op`. It has the record's
        key and the window that the record would have had, `[t, t]` for sessions and `[t - difference, t]` for sliding
        windows; the aggregates are null. These columns come before `op`, and are null in all other rows:

        * `time`: the time of the record.
        * `reason` (string): `null_key`, `null_time`, `null_tie`, `bad_gap`; on a stream also `late`, `ahead`,
          `bad_tick` and `refused` (a record of sliding windows whose own window has closed, and that is in no other);
          in a `StreamDriver` with `value=` also `null_value`.
        * `late_by` (a duration): how much more grace a `late` or `refused` record needed.
        * `stream_time`: the stream time that judged such a record.
        * `input`: for a cogroup, the name of the record's input.
        * `record`: a struct of `columns`, as the record has them; only with `columns`.

        If `late("emit")` returns a late record, it does not come back here again. `docs/how-to/left-out-records.md`
        writes these rows to a table. Kafka Streams only counts such records.

        Args:
            policy: `"drop"` or `"emit"`.
            columns: the columns of `record`, at least one; in a cogroup with their input, as in `"clicks.url"`. None
                gives the rows without `record`.

        Raises:
            ValueError: another word, an empty list of columns, `"drop"` with columns, a column twice, or a key with the
                name of a column that this option adds. `agg` raises it for a column that the data does not have.
            TypeError: `columns` is not a list of names.

        >>> from datetime import datetime
        >>> import pyarrow as pa
        >>> import windrow as wr
        >>> holes = pa.table({"user": ["ann", None], "ts": [datetime(2026, 1, 1)] * 2, "amount": [3.0, 4.0]})
        >>> kept = wr.group_by(holes, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
        >>> for row in kept.left_out("emit", columns=["amount"]).agg(n=wr.count()).to_pylist():
        ...     print(row["op"], row["user"], row["n"], row["reason"], row["record"])
        upsert ann 1 None None
        left_out None None null_key {'amount': 4.0}
        """
        if policy not in get_args(LeftOutPolicy):
            raise unknown_word("policy", policy, get_args(LeftOutPolicy))
        if policy == "drop":
            if columns is not None:
                raise bad_value("columns", columns, "none with left_out('drop'), which returns no records")
            return self._with(left_out=None)
        allowed = "the columns of the records to return, at least one, such as ['amount'], or None for none"
        if columns is None:
            return self._with(left_out=())._checked_op("left_out('emit')")
        if not isinstance(columns, list | tuple) or not all(isinstance(column, str) for column in columns):
            raise bad_type("columns", columns, f"a list of names: {allowed}")
        repeated = next((column for column in columns if columns.count(column) > 1), None)
        if not columns or repeated is not None:
            raise bad_value("columns", columns if repeated is None else repeated, f"{allowed}, each once")
        return self._with(left_out=tuple(columns))._checked_op("left_out('emit')")
