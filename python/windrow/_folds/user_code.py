"""Inspects the user's code: whether a function returns anything, and where it raised an exception."""

from __future__ import annotations

import dis
import inspect
import linecache
import sysconfig
import traceback
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType, TracebackType


def returns_nothing(function: object) -> bool:
    """Whether a function with `def` has no `return` of a value, such as one that only changes its argument.

    False for code that is not Python, and for a `lambda`, which always returns a value.

    >>> def add(held, row):
    ...     held.append(row)
    >>> returns_nothing(add), returns_nothing(list.append), returns_nothing(lambda held, row: None)
    (True, False, False)
    """
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType) or code.co_name == "<lambda>":
        return False
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return False
    nones = []
    for before, step in pairwise(dis.get_instructions(code)):
        if step.opname == "RETURN_CONST":
            nones.append(step.argval is None)
        elif step.opname == "RETURN_VALUE":
            is_none = before.opname == "LOAD_CONST" and before.argval is None
            nones.append(is_none and not step.is_jump_target)
    return bool(nones) and all(nones)


def takes(function: Callable[..., object], count: int) -> bool:
    """Whether a function can be called with this many arguments. True for code whose signature Python does not know.

    >>> takes(lambda a, b: a, 2), takes(lambda a: a, 2), takes(lambda a, *more: a, 2), takes(max, 2)
    (True, False, True, True)
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True


_PACKAGE = Path(__file__).parent.parent


def user_frame(raised: TracebackType | None) -> str | None:
    """File, line, function and source of the innermost frame outside of libraries; None if there is none.

    If the called function itself belongs to a library, it is the innermost frame of that library. The source is left
    out if the file is not on this machine.

    >>> try:
    ...     int("text")
    ... except ValueError as error:
    ...     print(user_frame(error.__traceback__))
    <doctest windrow._folds.user_code.user_frame[0]>:2, in <module>: int("text")
    """
    frames = [(frame, line) for frame, line in traceback.walk_tb(raised) if not _is_windrow(frame)]
    if not frames:
        return None
    library = sysconfig.get_path("stdlib")
    of_user = [each for each in frames if not _is_library(each[0].f_code.co_filename, library)]
    called = _package(frames[0][0])
    frame, line = (of_user or [each for each in frames if _package(each[0]) == called])[-1]
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
