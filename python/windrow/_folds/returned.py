"""Whether a function returns anything, told by its code and without calling it."""

from __future__ import annotations

import dis
import inspect
from itertools import pairwise
from types import CodeType


def returns_nothing(function: object) -> bool:
    """Whether a function that was written with `def` has no `return` of a value, as one that changes its argument.

    Of what is not written in Python, and of a `lambda`, whose value is always meant, it is not told.

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
    found = []
    for before, step in pairwise(dis.get_instructions(code)):
        if step.opname == "RETURN_CONST":
            found.append(step.argval is None)
        elif step.opname == "RETURN_VALUE":
            is_none = before.opname == "LOAD_CONST" and before.argval is None
            found.append(is_none and not step.is_jump_target)
    return bool(found) and all(found)
