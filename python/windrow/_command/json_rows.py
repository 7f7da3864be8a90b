"""Rows of JSON Lines. Every value is text, and a number is the text that the file has."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow._arguments.errors import bad_value
from windrow._command.chunks import chunks
from windrow._command.csv_rows import TextFormat
from windrow._command.file import File
from windrow._command.progress import Bar

_ONE_A_LINE = "allowed: JSON Lines, one object on each line"


@dataclass(frozen=True)
class JsonRows:
    """The rows of a file of JSON Lines. A field of a nested object has a name such as `user.id`."""

    file: File
    format: TextFormat

    def schema(self, *, whole: bool = False) -> pa.Schema:
        """The columns in the first lines, or in the whole file: all are text. Later lines may have more."""
        names, line = dict[str, None](), 1
        for chunk in chunks(self.file, Bar()):
            for row in self._objects(chunk, line):
                names.update(dict.fromkeys(filter(_is_unicode, _names(row))))
            if not whole:
                break
            line += chunk.count(b"\n")
        return pa.schema([(name, pa.string()) for name in names])

    def batches(self, columns: Sequence[str], bar: Bar) -> Iterator[pa.RecordBatch]:
        """Batches of these columns. Reports the bytes of the file to `bar`."""
        line = 1
        schema = pa.schema([(column, pa.string()) for column in columns])
        for chunk in chunks(self.file, bar):
            rows = self._objects(chunk, line)
            line += chunk.count(b"\n")
            yield pa.RecordBatch.from_arrays([self._column(rows, column) for column in columns], schema=schema)

    def _column(self, rows: list[dict[str, Any]], column: str) -> pa.Array[Any]:
        is_path = "." in column
        values = [self._value(row, column, column) if is_path else row.get(column) for row in rows]
        if self.format.nulls:
            values = [None if _plain(value) in self.format.nulls else value for value in values]
        try:
            return pa.array(values, pa.string())
        except (pa.ArrowInvalid, TypeError, UnicodeEncodeError):  # booleans, or what is no value
            return pa.array([self._text(column, value) for value in values], pa.string())

    def _value(self, row: Any, path: str, column: str) -> Any:
        """The value at a path in nested objects, whose names may have dots. Raises `ValueError` for no object."""
        if not isinstance(row, dict):
            return self._no_fields(row, column)
        name = path
        while name not in row and "." in name:
            name = name.rpartition(".")[0]
        inner = row.get(name)
        return inner if name == path else self._value(inner, path[len(name) + 1 :], column)

    def _no_fields(self, value: Any, column: str) -> None:
        """Raises `ValueError` for a value that a column with this name does not have."""
        if value is None or value == [] or _plain(value) in self.format.nulls:  # PHP writes {} as []
            return
        text = _plain(value)
        fix = f"; --null {shlex.quote(text)} makes it null" if isinstance(text, str) else ""
        raise bad_value(f"{self.file}: column {column!r}", text, f"an object, which has fields, or null{fix}")

    def _text(self, column: str, value: Any) -> str | None:
        if isinstance(value, dict | list):
            fields = f"an object, whose fields have names such as '{column}.name'"
            shape = fields if isinstance(value, dict) else "a list"
            raise ValueError(f"{self.file}: column {column!r}: got {shape}; allowed: texts, numbers and booleans")
        text: str | None = _plain(value)
        if text is not None and not _is_unicode(text):
            raise bad_value(f"{self.file}: column {column!r}", text, "text in Unicode, without half a surrogate pair")
        return text

    def _objects(self, chunk: bytes, line: int) -> list[dict[str, Any]]:
        """The objects of whole lines; `line` is the number of the first."""
        lines = [text for text in chunk.split(b"\n") if text.strip()]
        try:
            rows: list[Any] = _parsed(b"[" + b",".join(lines) + b"]")
        except (json.JSONDecodeError, UnicodeDecodeError):
            rows = [None]
        if len(rows) == len(lines) and all(isinstance(row, dict) for row in rows):
            return rows
        for number, text in enumerate(chunk.split(b"\n"), line):
            if not text.strip():
                continue
            try:
                row = _parsed(text)
            except UnicodeDecodeError as error:
                raise ValueError(f"{self.file}: line {number}: text that is not UTF-8 ({error.reason})") from None
            except json.JSONDecodeError as error:
                raise ValueError(
                    f"{self.file}: line {number}: {error.msg} at character {error.pos + 1}; {_ONE_A_LINE}"
                ) from None
            if not isinstance(row, dict):
                raise ValueError(f"{self.file}: line {number}: got a value that is not an object; {_ONE_A_LINE}")
        raise ValueError(f"{self.file}: line {line} and below: {_ONE_A_LINE}")


def _parsed(text: bytes) -> Any:
    return json.loads(text.decode(), parse_int=str, parse_float=str, parse_constant=str)


def _names(row: dict[str, Any], before: str = "") -> Iterator[str]:
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _names(value, f"{before}{name}.")
        else:
            yield f"{before}{name}"


def _plain(value: Any) -> Any:
    """The text of a boolean; any other value as it is, as numbers are text."""
    return str(value).lower() if isinstance(value, bool) else value


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)
