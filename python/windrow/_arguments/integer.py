"""Arguments that are whole numbers: an `int`, or another integer such as NumPy's."""

from __future__ import annotations

import operator

from windrow._arguments.errors import bad_type, bad_value


def integer(
    argument: str, value: object, allowed: str, *, least: int = 0, most: int | None = None, bounds: str | None = None
) -> int:
    """The value of an argument as an `int`; `bounds` says which integers are allowed, unless `allowed` does.

    Raises:
        TypeError: not an integer; True and False do not count as integers.
        ValueError: one below `least` or above `most`.

    >>> integer("k", 5, "an int from 1 to 9", least=1, most=9)
    5
    >>> integer("k", True, "an int from 1 to 9", least=1, most=9)
    Traceback (most recent call last):
        ...
    TypeError: k: got True, a bool; allowed: an int from 1 to 9
    """
    number = index_of(value)
    if number is None:
        raise bad_type(argument, value, allowed)
    if number < least or (most is not None and number > most):
        raise bad_value(argument, value, allowed if bounds is None else bounds)
    return number


def index_of(value: object) -> int | None:
    """A value as an integer; None if it is not an integer. True and False do not count as integers."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return None
    try:
        return operator.index(value)
    except TypeError:  # an array of several
        return None
