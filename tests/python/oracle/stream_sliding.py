"""Sliding windows of a stream by the letter of rules 4: Kafka's steps for each record (rules 9.3 to 9.5).

Each window holds the records that it accepted, or that the window held of which it was born as a copy.
"""

from __future__ import annotations

from .contents import Contents, added, deleted, empty
from .scenario import Row
from .stream import Stream, Window


class Slides(Stream):
    """```text
    left   ├───────────t          right   t u├───────────┤ where it holds a record       early   0├────t───┤
           t-d         t                   t+u         t+u+d                                      0        d
    ```
    """

    def visible(self, window: Window) -> bool:
        scenario, time = self.scenario, self.time
        retention = max(scenario.until or 0, 3 * scenario.length + scenario.grace + scenario.resolution)
        return time is None or window.start > time - retention

    def time_of(self, window: Window) -> int:
        return window.held.largest

    def floored(self, time: int) -> int:
        return time // self.scenario.resolution * self.scenario.resolution

    def take(self, row: Row, gap: int, close: float | int) -> None:
        assert row.time is not None
        time, length = self.floored(row.time), self.scenario.length
        own = 0 if 0 <= time < length else time - length
        if time + length < close:
            self.counters["late"] += 1
        elif own == 0 and time < length:
            self.seen["early"] += 1
            self.early(row, time, close)
        else:
            self.main(row, time, close)
        if own + length < close:
            self.alone(row, own, own + length)

    def near(self, row: Row, first: int, last: int) -> dict[int, Window]:
        """The visible windows of the record's key and side of 1970, by start."""
        assert row.time is not None
        first, last = (max(0, first), last) if row.time >= 0 else (first, min(-1, last))
        found = [window for window in self.shown() if window.key == row.key and first <= window.start <= last]
        return {window.start: window for window in sorted(found, key=lambda window: window.start)}

    def update(self, row: Row, start: int, base: Contents | None, close: float | int) -> None:
        """One window takes the record, on top of `base`, unless it is closed."""
        assert row.key is not None
        end = start + self.scenario.length
        if end < close:
            self.counters["windows_refused"] += 1
            return
        self.seen["on_the_close_time"] += end == close
        held = added(self.scenario, base or empty(self.scenario), row, self.arrivals)
        self.put(Window(row.key, start, end, end, held))

    def put(self, window: Window) -> None:
        before = next((known for known in self.stored if known.name == window.name), None)
        if before is not None:
            self.stored.remove(before)
        window.number = self.next_number() if before is None else before.number
        if deleted(self.scenario, window.held):
            self.changed("delete", window)
            return
        self.stored.append(window)
        self.changed("upsert", window)

    def right_of(self, row: Row, time: int, base: Contents) -> None:
        """The record's own right window: a copy of what stood there before the record."""
        assert row.key is not None
        self.seen["copies"] += 1
        start = time + self.scenario.resolution
        self.seen["older_than_its_start"] += any(self.floored(at) < start for at, _, _ in base.members)
        self.put(Window(row.key, start, start + self.scenario.length, start + self.scenario.length, base))

    def main(self, row: Row, time: int, close: float | int) -> None:
        length, unit = self.scenario.length, self.scenario.resolution
        near = self.near(row, time - 2 * length, time + unit)
        left = right = previous = None
        has_left = False
        for start, window in reversed(near.items()):
            if start + length > time and start <= time:
                right = right or window.held
                self.update(row, start, window.held, close)
            elif start + length == time:
                has_left = True
                largest = self.floored(window.held.largest)
                self.update(row, start, window.held, close)
                if largest >= time:
                    return
                previous = largest
            elif start + length < time:
                left, previous = window.held, self.floored(window.held.largest)
                break
        if previous is not None and previous + unit not in near and previous + unit + length >= time:
            self.seen["after_previous"] += 1
            self.seen["twice"] += previous + unit + length == time and not has_left
            self.update(row, previous + unit, None, close)
        if not has_left:
            base = left if previous is not None and previous >= time - length else None
            self.update(row, time - length, base, close)
        if time + unit not in near and right is not None and self.floored(right.largest) > time:
            self.right_of(row, time, right)

    def early(self, row: Row, time: int, close: float | int) -> None:
        unit = self.scenario.resolution
        near = self.near(row, 0, time + unit)
        combined = near[0].held if 0 in near else None
        right = previous = None
        if combined is not None and self.floored(combined.largest) < time:
            previous = self.floored(combined.largest)
        for start, window in near.items():
            if 0 < start <= time:
                right = window.held
                self.update(row, start, window.held, close)
        if right is None and combined is not None and self.floored(combined.largest) > time:
            right = combined
        if time + unit not in near and right is not None and self.floored(right.largest) > time:
            self.right_of(row, time, right)
        if previous is not None and previous + unit not in near:
            self.seen["after_previous"] += 1
            self.update(row, previous + unit, None, close)
        self.update(row, 0, combined, close)
