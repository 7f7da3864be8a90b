"""Copies of text files whose comment lines are empty, so that errors still name the lines of the file."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from windrow._arguments.errors import bad_value
from windrow._command.chunks import check_text, chunks
from windrow._command.file import File
from windrow._command.progress import Bar

_OPEN = rb'(?:(?:"(?:[^"]+|"")*+"|(?!"))[^,]*,)*+"(?:[^"]+|"")*+'
"""Fields of a line, each with its delimiter, and one whose quote does not end. A doubled quote is a part of a field."""


def without_comments(
    files: Iterable[File], comment: str, delimiter: str | None, folder: Path
) -> tuple[list[File], int]:
    """The files without the lines that begin with a text, and the number of these lines.

    The copies are in the folder. Files of Parquet have no lines and stay as they are. In CSV a line within a quoted
    field is no comment.

    Raises `ValueError` for an empty text, or one with the end of a line.
    """
    if not comment or {"\r", "\n"} & {*comment}:
        raise bad_value("--comment", comment, "the text with which lines to skip begin, such as '#'")
    begin, skipped, made = comment.encode(), 0, list[File]()
    for number, file in enumerate(files):
        if file.format == "parquet":
            made.append(file)
            continue
        check_text(file)
        copy, is_open = folder / f"comments-{number}", False
        between = re.escape((delimiter or {"csv": ",", "tsv": "\t"}.get(file.format, "")).encode())
        leaves_open = re.compile(_OPEN.replace(b",", between or b","))
        with copy.open("wb") as out:
            for chunk in chunks(file, Bar()):
                lines = chunk.split(b"\n")
                for place, line in enumerate(lines):
                    if line.startswith(begin) and not is_open:
                        lines[place] = b""
                        skipped += 1
                    elif between and b'"' in line:
                        is_open = leaves_open.fullmatch(b'"' * is_open + line) is not None
                out.write(b"\n".join(lines))
        made.append(replace(file, path=copy, compression=None, label=str(file)))
    return made, skipped


def first_line(text: str, comment: str | None) -> str:
    """The text from the first line on that is no comment."""
    lines = text.removeprefix(BOM_UTF8.decode()).splitlines(keepends=True)
    while comment and lines and (lines[0].startswith(comment) or not lines[0].strip()):
        del lines[0]
    return "".join(lines)
