"""What a file is, by its name."""

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
"""The format of a file that ends so, and what stands between its fields."""

ALLOWED = f"a file that ends with {', '.join(list(ENDINGS)[:-1])} or {list(ENDINGS)[-1]}"


@dataclass(frozen=True)
class File:
    """A file and what its name says of it.

    Attributes:
        path: where it is.
        format: CSV or Parquet.
        delimiter: what stands between the fields of a CSV file.
        compression: `gzip` where it is compressed as a whole; None where it is not.
    """

    path: Path
    format: Format
    delimiter: str
    compression: Literal["gzip"] | None

    @classmethod
    def of(cls, argument: str, path: str) -> File:
        """The file at a path; `ValueError` where its ending is none of `ENDINGS`."""
        ending = next((known for known in ENDINGS if path.lower().endswith(known)), None)
        if ending is None:
            raise bad_value(argument, path, ALLOWED)
        kind, delimiter = ENDINGS[ending]
        return cls(Path(path), kind, delimiter, "gzip" if ending.endswith(".gz") else None)
