"""The files that the arguments name: files, folders, patterns, and the standard input."""

from __future__ import annotations

import glob
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO, cast
from urllib.parse import unquote

from windrow._arguments.errors import bad_value
from windrow._command.chunks import open_text
from windrow._command.comments import first_line
from windrow._command.file import Compression, File, Format

ARGUMENT = "FILE"
STANDARD_INPUT = "-"
_TABLES = {"_delta_log": "Delta", ".hoodie": "Hudi", "metadata": "Iceberg"}
"""Folders in tables whose files are not all part of the table."""
_COMPRESSIONS: dict[bytes, Compression] = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
_COMMENTS = 1 << 20
"""How many bytes of a stream to look at for a line that is no comment."""
_NULL = "__HIVE_DEFAULT_PARTITION__"


def input_files(paths: Sequence[str], kind: Format | None, spool: Path, comment: str | None = None) -> list[File]:
    """The files of the arguments, in order; the files of a folder or a pattern are in the order of their names.

    A stream, such as the standard input, is copied to the folder `spool`, because it is read more than once. Its first
    line that does not begin with `comment` shows its format.

    Raises `ValueError` for a path that is not there, a folder without files, and a table of Delta, Iceberg or Hudi.
    """
    files, stdin = list[File](), cast("TextIO | None", sys.stdin)
    if paths.count(STANDARD_INPUT) > (0 if stdin is None else 1):
        allowed = "a standard input that is open" if stdin is None else "the standard input once"
        raise bad_value(ARGUMENT, STANDARD_INPUT, allowed)
    for path in paths:
        files += _of(path, kind, spool / str(len(files)), comment)
    return files


def _of(path: str, kind: Format | None, copy: Path, comment: str | None) -> list[File]:
    place = Path(path)
    if path == STANDARD_INPUT or (place.exists() and not place.is_file() and not place.is_dir()):
        with sys.stdin.buffer if path == STANDARD_INPUT else place.open("rb") as stream, copy.open("wb") as spooled:
            shutil.copyfileobj(stream, spooled, 1 << 20)
        return [_sniffed(copy, "standard input" if path == STANDARD_INPUT else path, kind, comment)]
    if place.is_file():
        return [File.of(ARGUMENT, path, kind)]
    if place.is_dir():
        return _folder(place, place, kind)
    if glob.has_magic(path):
        base = _base(place)
        files = list[File]()
        for match in map(Path, sorted(glob.glob(path, recursive=True))):
            if match.name.startswith("_"):  # _SUCCESS
                continue
            files += _folder(match, base, kind) if match.is_dir() else [_part(match, base, kind)]
        by_path = {file.path: file for file in files if file.path.stat().st_size} or {file.path: file for file in files}
        if by_path:
            return list(by_path.values())
        raise bad_value(ARGUMENT, path, "a pattern that matches a file")
    raise bad_value(ARGUMENT, path, "a file that exists")


def _sniffed(path: Path, label: str, kind: Format | None, comment: str | None) -> File:
    """The file of a stream without a name: its first bytes show its format."""
    with path.open("rb") as stream:
        begin = stream.read(4)
    compression = next((each for magic, each in _COMPRESSIONS.items() if begin.startswith(magic)), None)
    implicit: Format = "parquet" if begin == b"PAR1" else "csv"
    if implicit == "csv":
        text = open_text(File(path, "csv", compression))[1].read(64 if comment is None else _COMMENTS)
        begins = first_line(text.decode(errors="replace"), comment).lstrip()
        implicit = "jsonl" if begins.startswith("{") else "csv"
    return File(path, kind or implicit, compression, label=label)


def _base(pattern: Path) -> Path:
    """The folders of a pattern before the first one with a wildcard."""
    parts = [*pattern.parts]
    first = next(place for place, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:first])


def _folder(folder: Path, base: Path, kind: Format | None) -> list[File]:
    """The files in a folder and the folders below, as Spark reads them."""
    files = [_part(path, base, kind) for path in _paths(folder) if path.stat().st_size]
    if not files:
        raise bad_value(ARGUMENT, str(folder), "a folder with files, such as Spark writes")
    return files


def _paths(folder: Path) -> Iterator[Path]:
    """Files whose names do not begin with `_` or `.`."""
    for name, table in _TABLES.items():
        is_table = (folder / name).is_dir() and (name != "metadata" or any((folder / name).glob("*.metadata.json")))
        if is_table:
            allowed = f"no {table} table, because not all files in its folder belong to it: export it first"
            raise bad_value(ARGUMENT, str(folder), allowed)
    if (folder / "_spark_metadata").is_dir():
        allowed = (
            "no sink of a Spark stream, because only its log lists the valid files: read it with Spark and export it"
        )
        raise bad_value(ARGUMENT, str(folder), allowed)
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name.startswith(("_", ".")):
            continue
        if entry.is_dir():
            yield from _paths(Path(entry.path))
        else:
            yield Path(entry.path)


def _part(path: Path, base: Path, kind: Format | None) -> File:
    """A file of a folder, with the columns that the names of its folders give: `day=2026-05-04`."""
    partitions = dict[str, str | None]()
    for part in path.relative_to(base).parts[:-1]:
        name, equals, value = part.partition("=")
        if name and equals:
            partitions[unquote(name)] = None if value == _NULL else unquote(value)
    return replace(File.of(ARGUMENT, str(path), kind), partitions=tuple(partitions.items()))
