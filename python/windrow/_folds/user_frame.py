"""Where in the user's own code an exception was raised: Spark hands on the text of an error, without its causes."""

from __future__ import annotations

import linecache
import sysconfig
import traceback
from pathlib import Path
from types import FrameType, TracebackType

_PACKAGE = Path(__file__).parent.parent


def user_frame(raised: TracebackType | None) -> str | None:
    """File, line, function and source of the innermost frame that is not of a library; None where there is none.

    Where the function that was called is of a library itself, it is the innermost frame of that library. The source is
    left out where this machine does not have the file.

    >>> try:
    ...     int("text")
    ... except ValueError as error:
    ...     print(user_frame(error.__traceback__))
    <doctest windrow._folds.user_frame.user_frame[0]>:2, in <module>: int("text")
    """
    frames = [(frame, line) for frame, line in traceback.walk_tb(raised) if not _is_windrow(frame)]
    if not frames:
        return None
    library = sysconfig.get_path("stdlib")
    own = [known for known in frames if not _is_library(known[0].f_code.co_filename, library)]
    called = _package(frames[0][0])
    frame, line = (own or [known for known in frames if _package(known[0]) == called])[-1]
    file, function = frame.f_code.co_filename, frame.f_code.co_name
    source = linecache.getline(file, line, frame.f_globals).strip()
    return f"{file}:{line}, in {function}" + (f": {source}" if source else "")


def _is_windrow(frame: FrameType) -> bool:
    return Path(frame.f_code.co_filename).is_relative_to(_PACKAGE)


def _is_library(file: str, library: str) -> bool:
    installed = {"site-packages", "dist-packages"}.intersection(Path(file).parts)
    return bool(installed) or file.startswith(("<frozen ", library))


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
