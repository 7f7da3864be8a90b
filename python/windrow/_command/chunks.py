"""Opens text files with Arrow's own files, and reads them in chunks of whole lines.

Threads of Arrow read ahead, even while the interpreter ends. If one called Python then, the process would abort or
hang, so Arrow never gets a file object of Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from windrow._command.file import File
from windrow._command.progress import Bar

_CHUNK = 1 << 20


def open_text(file: File) -> tuple[Any, Any]:
    """The file as it is on disk, and the same without its compression."""
    raw: Any = pa.OSFile(str(file.path), "r")
    return raw, raw if file.compression is None else pa.input_stream(raw, compression=file.compression)


def chunks(file: File, bar: Bar) -> Iterator[bytes]:
    """The text of a file in chunks of whole lines. Reports the bytes of the file to `bar`."""
    raw, stream = open_text(file)
    rest, done = b"", 0
    while chunk := stream.read(_CHUNK):
        lines, newline, tail = chunk.rpartition(b"\n")
        if newline:
            yield rest + lines + newline
            rest = tail
        else:
            rest += chunk
        position = raw.tell()
        bar.add(position - done)
        done = position
    if rest:
        yield rest
