"""Rows of CSV, and of text with fields between white space. Every value is text, as it is in the file."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc_csv

from windrow._arguments.errors import bad_value
from windrow._command.chunks import chunks, open_text
from windrow._command.file import File
from windrow._command.progress import Bar

_BLANKS = re.compile(rb"[ \t]+")
_EDGES = re.compile(rb"^[ \t]+|[ \t]+(?=\r?$)", re.MULTILINE)
_QUOTED = re.compile(rb'(?<![^ \t\n])("(?:[^"\r\n]|""|\r(?!\n))*)"?|[ \t]+')
"""A field that begins with a quote, without the quote that ends it, or blanks."""
_NO_ROW = ("Empty CSV file", "CSV parse error: Empty CSV file")
_ROW = re.compile(r"Row #(\d+)")


@dataclass(frozen=True)
class TextFormat:
    """How to read text files.

    Attributes:
        delimiter: the field delimiter of CSV; None takes it from the format.
        nulls: texts that mean null, in addition to the empty field.
        names: the columns of files without a header; None if the first line is a header.
        types: column types by name; without one, the use of a column decides.
        decimal: the decimal point of numbers.
        points: whether a point is one, too, as in numbers of JSON.
    """

    delimiter: str | None = None
    nulls: Sequence[str] = ()
    names: list[str] | None = None
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    decimal: str = "."
    points: bool = False

    def __post_init__(self) -> None:
        """Raises `ValueError` for a delimiter or a decimal point that is not one character."""
        if self.delimiter is not None and (
            len(self.delimiter) != 1 or self.delimiter in '"\r\n\0' or self.delimiter > "~"
        ):
            allowed = "one ASCII character and no quote, such as ';' or $'\\t' for a tab; --format text for white space"
            raise bad_value("--delimiter", self.delimiter, allowed)
        if self.decimal not in (".", ","):
            raise bad_value("--decimal", self.decimal, "'.' or ','")


@dataclass(frozen=True)
class CsvRows:
    """The rows of a file of CSV or text."""

    file: File
    format: TextFormat

    def schema(self) -> pa.Schema:
        """The columns: all are text."""
        if self._is_text:
            lines = next(chunks(self.file, Bar()), b"").lstrip()
            if not lines and self.format.names is None:
                raise self._without_header()
            names = self.format.names or self._parsed(lines[: lines.find(b"\n") + 1], None).schema.names
        else:
            names = self._open(None, open_text(self.file)[1]).schema.names
        return pa.schema([(name, pa.string()) for name in names])

    def batches(self, columns: Sequence[str], bar: Bar) -> Iterator[pa.RecordBatch]:
        """Batches of these columns. Reports the bytes of the file to `bar`."""
        if not self._is_text:
            yield from self._csv(columns, bar)
            return
        names, lines = self.format.names, 0
        for chunk in chunks(self.file, bar):
            try:
                table = self._parsed(chunk, names, columns)
            except pa.ArrowInvalid as error:
                raise pa.ArrowInvalid(_numbered(str(error), chunk, lines)) from None
            if names is None:
                names = self.schema().names
            lines += chunk.count(b"\n")
            yield from table.to_batches()

    @property
    def _is_text(self) -> bool:
        return self.file.format == "text" and self.format.delimiter is None

    def _csv(self, columns: Sequence[str], bar: Bar) -> Iterator[pa.RecordBatch]:
        raw, stream = open_text(self.file)
        done = 0
        for batch in self._open(columns, stream):
            yield batch
            position = raw.tell()
            bar.add(position - done)
            done = position

    def _open(self, columns: Sequence[str] | None, stream: Any) -> pc_csv.CSVStreamingReader:
        """A reader, over a file of Arrow's own; only Arrow closes it, as it may read ahead when the reader is gone."""
        names = self.format.names
        delimiter = self.format.delimiter or ("\t" if self.file.format == "tsv" else ",")
        conversion = self._conversion(columns)
        parsing = pc_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        try:
            return pc_csv.open_csv(stream, pc_csv.ReadOptions(column_names=names), parsing, conversion)
        except pa.ArrowInvalid as error:
            if not str(error).startswith(_NO_ROW):
                raise
        # Arrow wants the end of a line, even of a header without rows.
        header = open_text(self.file)[1].read().strip() if names is None else delimiter.join(names).encode()
        if not header.removeprefix(BOM_UTF8):
            raise self._without_header()
        header_alone: Any = pa.BufferReader(header + b"\n")
        return pc_csv.open_csv(header_alone, None, parsing, conversion)

    def _without_header(self) -> ValueError:
        return ValueError(
            f"{self.file}: got an empty file; allowed: a line with the names of the columns, or --columns"
        )

    def _conversion(self, columns: Sequence[str] | None) -> pc_csv.ConvertOptions:
        return pc_csv.ConvertOptions(
            column_types=dict.fromkeys(columns or (), pa.string()),
            include_columns=None if columns is None else list(columns),
            null_values=["", *self.format.nulls],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )

    def _parsed(self, chunk: bytes, names: list[str] | None, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of whole lines with fields between white space. A quote ends with its line at the latest."""
        text = _EDGES.sub(b"", chunk)
        if b'"' in text:
            text = _QUOTED.sub(lambda match: b" " if match[1] is None else match[1] + b'"', text)
        else:
            text = _BLANKS.sub(b" ", text)
        buffer: Any = pa.BufferReader(text)
        return pc_csv.read_csv(
            buffer,
            read_options=pc_csv.ReadOptions(column_names=names, use_threads=False),
            parse_options=pc_csv.ParseOptions(delimiter=" "),
            convert_options=self._conversion(columns),
        )


def _numbered(message: str, chunk: bytes, lines: int) -> str:
    """An error of Arrow with the line of the file, after `lines`. Arrow counts the rows of a chunk, not empty lines."""
    row = _ROW.search(message)
    if row is None:
        return message
    filled = [number for number, line in enumerate(chunk.split(b"\n"), lines + 1) if line.strip()]
    return message.replace(row[0], f"line {filled[int(row[1]) - 1]}")
