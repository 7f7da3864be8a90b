"""Sessions of a stream by the letter of rules 2 and 3: what is closed is frozen, later records join what is not."""

from __future__ import annotations

from .contents import added, deleted, empty, merged
from .scenario import Row
from .stream import Stream, Window


class Sessions(Stream):
    """```text
    gap 5, grace 2      ├─x──x─┤·····┤··          closes when stream time is past end + gap + grace
                        start  end   reach        (dynamic: reach = the largest t + gap)
    ```
    """

    def gap(self, row: Row) -> int | None:
        own = self.scenario.length if self.scenario.kind == "session" else row.gap
        least = 0 if self.scenario.ends or self.scenario.kind == "session" else 1
        if own is None or own < least:
            self.counters["bad_gaps"] += 1
            return None
        if self.scenario.ends and (row.end is None or row.time is None or row.end < row.time):
            self.counters["bad_ends"] += 1
            return None
        self.counters["clamped_gaps"] += own > self.scenario.length
        return min(own, self.scenario.length)

    def visible(self, window: Window) -> bool:
        time, until = self.time, self.scenario.until
        kept = time is None or (until is not None and window.end > time - until)
        return window.reach >= self.close_time or kept

    def time_of(self, window: Window) -> int:
        return window.end

    def take(self, row: Row, gap: int, close: float | int) -> None:
        assert row.key is not None
        assert row.time is not None
        last = self.scenario.last(row)
        joins = [
            window
            for window in self.shown()
            if window.key == row.key and row.time <= window.reach and window.start <= last + gap
        ]
        start = min([row.time, *(window.start for window in joins)])
        end = max([last, *(window.end for window in joins)])
        reach = max([last + gap, *(window.reach for window in joins)])
        if reach < close:
            self.counters["late"] += 1
            self.seen["late_beside_open"] += bool(joins)
            self.alone(row, row.time, last)
            return
        self.counters["behind"] += self.scenario.ends and row.time < close
        held = empty(self.scenario)
        for window in joins:
            held = merged(self.scenario, held, window.held)
        held = added(self.scenario, held, row, self.arrivals)
        same = [window.number for window in joins if window.name == (row.key, start, end)]
        made = Window(row.key, start, end, reach, held, same[0] if same else self.next_number())
        self.note(row, joins, made, close)
        for window in joins:
            self.stored.remove(window)
            if not ((start, end) == (window.start, window.end) == (row.time, last)):
                self.changed("delete", window)
        if deleted(self.scenario, held):
            self.changed("delete", made)
            return
        self.stored.append(made)
        self.changed("upsert", made)

    def note(self, row: Row, joins: list[Window], made: Window, close: float | int) -> None:
        assert row.time is not None
        self.seen["merges"] += len(joins) > 1
        self.seen["merges_of_three"] += len(joins) > 2
        self.seen["revivals"] += any(window.closed for window in joins)
        self.seen["far_behind_but_kept"] += row.time + self.scenario.length < close
        self.seen["overwritten"] += [window.name for window in joins] == [made.name]
        self.seen["on_the_close_time"] += made.reach == close
        self.seen["beside_frozen"] += any(
            not self.visible(window)
            and window.key == row.key
            and window.start <= made.reach
            and made.start <= window.reach
            for window in self.stored
        )
        self.seen["same_bounds_again"] += any(
            window.name == made.name and not self.visible(window) for window in self.stored
        )
