"""The filesystem of a file, and whether the file is still the one that was planned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, quote, unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from windrow._arguments.errors import bad_value

_OTHER_NAMES = {"s3a": "s3", "s3n": "s3"}
"""Schemes of Hadoop, and what Arrow calls them."""

_WITHOUT_BUCKET = ("", "file", "hdfs", "viewfs", "dbfs")
"""Schemes whose paths in Arrow do not begin with a bucket or a container."""

_OPTIONS = {"gs": "?retry_limit_seconds=60"}
"""Options of Arrow's filesystems. Without credentials, that of Google would try for 15 minutes."""

SCHEMES = ("file", "s3", "s3a", "s3n", "gs", "abfs", "abfss", "hdfs", "viewfs", "dbfs")


@dataclass(frozen=True)
class Location:
    """A file as it was when the scan was planned.

    Attributes:
        uri: where it is; messages name it.
        size: its bytes.
        modified: when it was last written, in nanoseconds since 1970, if the filesystem says it.
        place: a filesystem of pyarrow, and the path in it; None if the URI alone says both.
    """

    uri: str
    size: int
    modified: int | None
    place: tuple[Any, str] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, uri: str, place: tuple[Any, str] | None = None) -> Location:
        """The file as it is now. Raises `RuntimeError` if there is none, or it cannot be read."""
        filesystem, path = place or located(uri)
        try:
            info: Any = filesystem.get_file_info(path)
        except (OSError, pa.ArrowException) as error:
            raise unreadable(uri, error) from error
        if info.type != fs.FileType.File:
            raise RuntimeError(f"{uri}: there is no such file; it was there when the files of the scan were listed")
        return cls(uri, info.size, info.mtime_ns, place)

    def opened(self) -> tuple[Any, str]:
        """The filesystem, and the path in it."""
        return self.place or located(self.uri)

    def check(self) -> None:
        """Raises `RuntimeError` if the file has been removed or written since."""
        now = Location.of(self.uri, self.place)
        if now != self:
            raise RuntimeError(
                f"{self.uri}: the file was written after the scan was planned ({self.size} bytes then, {now.size} "
                "now); call the scan again, or read files that do not change"
            )


def path_in_store(uri: str) -> str:
    """The path of a URI in a filesystem that the user made: in object stores it begins with the bucket.

    >>> path_in_store("s3a://bucket/day=2026-05-04/a%20b.parquet")
    'bucket/day=2026-05-04/a b.parquet'
    """
    parts = _split(uri)
    store = "" if parts.scheme in _WITHOUT_BUCKET else parts.netloc.partition("@")[0]
    return store + unquote(parts.path)


def located(uri: str) -> tuple[Any, str]:
    """The filesystem of a URI, and the path in it. `ValueError` for a scheme that Arrow does not have."""
    parts = _split(uri)
    scheme = _OTHER_NAMES.get(parts.scheme, parts.scheme)
    if scheme in ("", "file"):
        return fs.LocalFileSystem(), unquote(parts.path)
    if scheme == "dbfs":
        return fs.LocalFileSystem(), f"/dbfs{unquote(parts.path)}"
    if scheme not in SCHEMES:
        allowed = f"files of {', '.join(SCHEMES)}; others with filesystem="
        raise bad_value("paths", uri, allowed)
    try:
        options = _OPTIONS.get(scheme, "")
        filesystem, path = fs.FileSystem.from_uri(f"{scheme}://{parts.netloc}{quote(unquote(parts.path))}{options}")
    except (OSError, pa.ArrowException, ValueError) as error:
        raise unreadable(uri, error) from error
    return filesystem, path


def unreadable(uri: str, error: Exception) -> RuntimeError:
    """The error of a file that cannot be read."""
    hint = ""
    if urlsplit(uri).scheme not in ("", "file"):
        hint = (
            " (Arrow reads it, with the credentials of filesystem= or of the environment of each executor; it does "
            "not know those in Spark's own settings)"
        )
    return RuntimeError(f"{uri}: {error}{hint}")


def _split(uri: str) -> SplitResult:
    return urlsplit(uri.replace("#", "%23").replace("?", "%3F"))
