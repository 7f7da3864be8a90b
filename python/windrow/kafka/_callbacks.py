"""The callbacks of a producer's records, and what they raise in the thread, where no caller is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from windrow._arguments.errors import bad_type

Delivered = Callable[[Any, Any], None]
"""What `confluent_kafka` calls for a record: with an error or None, and the record."""

KEPT = 100
"""How many exceptions are kept at the most for a caller who never polls; the others are counted alone."""


class Callbacks:
    """Which callback a record has, and the exceptions that wait for a caller.

    Attributes:
        raised: how many exceptions were kept, or would have been.
    """

    def __init__(self, of_settings: object) -> None:
        """`of_settings` is the `on_delivery` of a producer's settings, for records without a callback of their own.

        Raises:
            TypeError: it cannot be called.
        """
        if of_settings is not None and not callable(of_settings):
            raise bad_type("config: on_delivery", of_settings, "a function of an error and a record")
        self._of_settings = of_settings
        self._kept: list[BaseException] = []
        self._are_held = False
        self.raised = 0

    def of(self, *callbacks: Delivered | None) -> Delivered | None:
        """The first that is not None, as in the library."""
        return next((one for one in (*callbacks, self._of_settings) if one is not None), None)

    def keep(self, error: BaseException) -> None:
        """Keeps what was raised where nobody takes it."""
        self.raised += 1
        if len(self._kept) < KEPT:
            self._kept.append(error)

    def take(self) -> BaseException | None:
        """The exception that has waited longest, once."""
        return self._kept.pop(0) if self._kept else None

    def call(self, function: Callable[..., object], *given: object) -> None:
        """Calls back. What is raised is an exception already when it reaches the library.

        The library takes type and value of what a callback raised as it finds them, and reports a SystemError where
        the interpreter has not made an exception of them yet.
        """
        try:
            function(*given)
        except BaseException as raised:
            if not self._are_held or isinstance(raised, KeyboardInterrupt):
                raise raised
            self.keep(raised)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within its `with` the library is told of no exception: they are kept, and what it does comes to its end."""
        self._are_held = True
        try:
            yield
        finally:
            self._are_held = False
