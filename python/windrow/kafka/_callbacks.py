"""The callbacks of a producer's records, and the exceptions that they raise in the thread, where there is no caller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from windrow._arguments.errors import bad_type

Delivered = Callable[[Any, Any], None]
"""A delivery callback of `confluent_kafka`. Its arguments are an error or None, and the record."""

KEPT = 100
"""At most this many exceptions are kept for a caller who never polls. Others are only counted."""


class Callbacks:
    """Chooses the callback of a record, and keeps exceptions for the caller.

    Attributes:
        raised: the number of exceptions, including those beyond `KEPT`.
    """

    def __init__(self, of_settings: object) -> None:
        """Takes the `on_delivery` of the producer's settings, the default callback of records.

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
        """The first callback that is not None, as in the library."""
        return next((one for one in (*callbacks, self._of_settings) if one is not None), None)

    def keep(self, error: BaseException) -> None:
        """Keeps an exception that has no caller."""
        self.raised += 1
        if len(self._kept) < KEPT:
            self._kept.append(error)

    def take(self) -> BaseException | None:
        """Removes and returns the oldest exception, or None."""
        return self._kept.pop(0) if self._kept else None

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Calls the callback and raises its exceptions again, from Python.

        The library reads the type and value of a raised exception as it finds them. It reports a SystemError if the
        interpreter has not created the exception object yet. Raising from Python creates it.
        """
        try:
            function(*arguments)
        except BaseException as raised:
            if not self._are_held or isinstance(raised, KeyboardInterrupt):
                raise raised
            self.keep(raised)

    @contextmanager
    def held(self) -> Iterator[None]:
        """In this context, exceptions are kept and not raised, so that a library call can finish."""
        self._are_held = True
        try:
            yield
        finally:
            self._are_held = False
