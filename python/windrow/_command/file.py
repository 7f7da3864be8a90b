"""The format of a file, read from its name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from windrow._arguments.errors import bad_value

Format = Literal["csv", "parquet"]

ENDINGS: dict[str, tuple[Format, str]] = {
    ".parquet": ("parquet", ","),
    ".pq": ("parquet", ","),
    ".csv": ("csv", ","),
    ".tsv": ("csv", "\t"),
    ".csv.gz": ("csv", ","),
    ".tsv.gz": ("csv", "\t"),
}
"""File format and field delimiter, by file name ending."""

ALLOWED = f"a file that ends with {', '.join(list(ENDINGS)[:-1])} or {list(ENDINGS)[-1]}"


@dataclass(frozen=True)
class File:
    """A file, with the format that its name implies.

    Attributes:
        path: the path.
        format: CSV or Parquet.
        delimiter: the field delimiter of a CSV file.
        compression: `gzip` if the whole file is compressed, else None.
    """

    path: Path
    format: Format
    delimiter: str
    compression: Literal["gzip"] | None

    @classmethod
    def of(cls, argument: str, path: str) -> File:
        """The file at a path. Raises `ValueError` if its ending is not in `ENDINGS`."""
        ending = next((name for name in ENDINGS if path.lower().endswith(name)), None)
        if ending is None:
            raise bad_value(argument, path, ALLOWED)
        kind, delimiter = ENDINGS[ending]
        return cls(Path(path), kind, delimiter, "gzip" if ending.endswith(".gz") else None)
