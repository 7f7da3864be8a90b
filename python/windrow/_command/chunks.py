"""Opens text files with Arrow's own files, and reads them in chunks of whole lines.

Threads of Arrow read ahead, even while the interpreter ends. If one called Python then, the process would abort or
hang, so Arrow never gets a file object of Python.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from windrow._command.file import File
from windrow._command.progress import Bar

_CHUNK = 1 << 20
_OTHERS = {
    b"\xff\xfe\0\0": ("UTF-32", "iconv -f utf-32 -t utf-8"),
    b"\xff\xfe": ("UTF-16", "iconv -f utf-16 -t utf-8"),
    b"\xfe\xff": ("UTF-16", "iconv -f utf-16 -t utf-8"),
    b"\x1f\x8b": ("gzip", "a name that ends with .gz"),
    b"BZh": ("bzip2", "a name that ends with .bz2"),
    b"\x28\xb5\x2f\xfd": ("zstd", "a name that ends with .zst"),
    b"PAR1": ("Parquet", "--format parquet"),
    b"PK\3\4": ("a zip archive or a spreadsheet", "unzip, or an export as CSV"),
}
"""What is no text in UTF-8, by its first bytes, and what helps."""


def open_text(file: File) -> tuple[Any, Any]:
    """The file as it is on disk, and the same without its compression."""
    raw: Any = pa.OSFile(str(file.path), "r")
    return raw, raw if file.compression is None else pa.input_stream(raw, compression=file.compression)


def check_text(file: File) -> None:
    """Raises `ValueError` if the first bytes of a file are of something else than text in UTF-8."""
    begin = open_text(file)[1].read(4)
    found = next((other for magic, other in _OTHERS.items() if begin.startswith(magic)), None)
    if found is None and b"\0" in begin:
        order = "be" if begin.startswith(b"\0") else "le"
        found = "UTF-16 without a mark", f"iconv -f utf-16{order} -t utf-8"
    if found is not None:
        raise ValueError(f"{file}: got {found[0]}; allowed: {file.format} in UTF-8 ({found[1]} helps)")


def chunks(file: File, bar: Bar) -> Iterator[bytes]:
    """The text of a file in chunks of whole lines. Reports the bytes of the file to `bar`."""
    raw, stream = open_text(file)
    rest, done = stream.read(len(BOM_UTF8)).removeprefix(BOM_UTF8), 0
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
        yield rest + b"\n"
