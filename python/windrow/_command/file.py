"""The format of a file, from its name, its first bytes, or `--format`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from windrow._arguments.errors import bad_value

Format = Literal["csv", "tsv", "text", "jsonl", "parquet"]
FORMATS = get_args(Format)
Compression = Literal["gzip", "bz2", "zstd"]

ENDINGS: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".txt": "text",
    ".log": "text",
}
"""File format by file name ending. `text` has fields between white space."""

COMPRESSIONS: dict[str, Compression] = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""Compression by the ending after that of the format."""

_ALLOWED = (
    f"a file that ends with {', '.join(ENDINGS)}, all but Parquet also with {', '.join(COMPRESSIONS)} after it; "
    "--format names the format of other files"
)


@dataclass(frozen=True)
class File:
    """A file and its format.

    Attributes:
        path: the path.
        format: the format; `text` has fields between white space.
        compression: the compression of the whole file, or None.
        partitions: columns that its folders name (`day=2026-05-04`), with their values; None for a null.
        label: what messages call it.
    """

    path: Path
    format: Format
    compression: Compression | None = None
    partitions: tuple[tuple[str, str | None], ...] = ()
    label: str = ""

    def __str__(self) -> str:
        """Its name in messages."""
        return self.label or str(self.path)

    @classmethod
    def of(cls, argument: str, path: str, kind: Format | None = None) -> File:
        """The file at a path, in a format or that of its name. Raises `ValueError` if the name has no known ending."""
        name, compression = path.lower(), None
        for ending, each in COMPRESSIONS.items():
            if name.endswith(ending):
                name, compression = name.removesuffix(ending), each
        usual = next((ENDINGS[ending] for ending in ENDINGS if name.endswith(ending)), None)
        if kind is None and (usual is None or (usual == "parquet" and compression is not None)):
            option = "--out-format" if argument == "--out" else "--format"
            raise bad_value(argument, path, _ALLOWED.replace("--format", option))
        return cls(Path(path), kind or usual or "csv", compression)
