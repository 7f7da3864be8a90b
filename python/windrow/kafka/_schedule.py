"""A quiet partition, and the schedule of its control messages.

```text
 last record        start          + backoff    + backoff                      end
 ────●────────────────┬───────────────┬────────────┬─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ┬───────▶ wall clock
                      1               2            3        (exponential: 1, 2, 4, ... times the backoff)
```
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.kafka._control import LATEST


@dataclass(frozen=True)
class Schedule:
    """The quiet times at which control messages are sent, in milliseconds.

    Attributes:
        start: the quiet time before the first message.
        end: the quiet time of the last message; None for one message only.
        backoff: the time between messages.
        exponential: whether that time doubles with each message.

    >>> [Schedule(10, 60, 1, True).due(number) for number in range(8)]
    [10, 11, 13, 17, 25, 41, 60, None]
    """

    start: int
    end: int | None
    backoff: int
    exponential: bool

    def due(self, number: int) -> int | None:
        """The quiet time of message `number`, counted from 0; None if there is no such message."""
        if number == 0:
            return self.start
        if self.end is None or self._unbounded(number - 1) >= self.end:
            return None
        return min(self._unbounded(number), self.end)

    @property
    def last(self) -> int:
        """The quiet time of the last message."""
        return self.start if self.end is None else self.end

    def following(self, number: int, quiet: int) -> int:
        """The number of the first message after `number` that is due later than `quiet`."""
        if not self.exponential:
            return max(number + 1, (quiet - self.start) // self.backoff + 1)
        number += 1
        while (due := self.due(number)) is not None and due <= quiet:
            number += 1
        return number

    def _unbounded(self, number: int) -> int:
        return self.start + (2**number - 1 if self.exponential else number) * self.backoff


class QuietPartition:
    """A partition whose time moves on while it is quiet, and the control messages that say so. Times are milliseconds.

    Attributes:
        event_time: the largest time of its records; None without any.
        since: since when there is no new record.
        sent_time: the largest time that was sent to it; -1 for none.
        sequence: how many control messages were sent.
        begun: when the quiet period began.
        next: when the next message is due; None if there are no more.
    """

    event_time: int | None = None
    sent_time = -1
    sequence = 0

    def __init__(self, schedule: Schedule, since: int, allowance: int = 0) -> None:
        """Starts a quiet period at `since`. Event time is `allowance` behind."""
        self._schedule, self._allowance, self.since = schedule, allowance, since
        self.begin(since)

    def reached(self, now: int) -> int | None:
        """The time that it has reached, at most the largest of a control message; None without records."""
        time = self.event_time
        return None if time is None else min(time + (now - self.since) - self._allowance, LATEST)

    def begin(self, since: int) -> None:
        """Starts a new quiet period at `since`."""
        self.begun = since
        self._number = 0
        self.next: int | None = since + self._schedule.start

    def is_due(self, now: int) -> bool:
        """Whether a message is due."""
        return self.next is not None and self.next <= now

    def sent(self, now: int) -> None:
        """Notes a sent message. Skips messages that were due before it."""
        quiet = now - self.begun
        if self._schedule.end is not None and quiet >= self._schedule.end:
            self.next = None
            return
        self._number = self._schedule.following(self._number, quiet)
        due = self._schedule.due(self._number)
        self.next = None if due is None else self.begun + due

    def put_off(self, now: int) -> None:
        """Postpones a due message by the backoff."""
        if self.is_due(now):
            self.next = now + self._schedule.backoff

    def retry(self, now: int) -> None:
        """Schedules another message after the backoff because one did not arrive, even if it was the last."""
        again = now + self._schedule.backoff
        self.next = again if self.next is None or self.next <= now else min(self.next, again)

    def stop(self) -> None:
        """Ends the messages of this period."""
        self.next = None
