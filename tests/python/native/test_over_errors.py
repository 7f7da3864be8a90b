"""What `over` refuses, and with which words."""

from __future__ import annotations

import pyarrow as pa

import windrow as wr

from .test_over import PAID, paid
from .test_with_columns import refused


def test_what_cannot_be_is_refused_with_the_reason() -> None:
    n = wr.count()
    refused(lambda: n.over(5), TypeError, "over(difference=)", "a bare number has no unit")  # type: ignore[arg-type]
    refused(lambda: n.over("0 seconds"), ValueError, "over(difference=)", "longer than zero")
    refused(lambda: n.over("-1 hour"), ValueError, "over(difference=)", "longer than zero")
    refused(lambda: n.over("1 month"), ValueError, "no fixed length")
    refused(lambda: n.over("1 hour", delay="-1 hour"), ValueError, "over(delay=)", "zero or more")
    refused(lambda: n.over("1 hour", delay=1), TypeError, "over(delay=)")  # type: ignore[arg-type]
    refused(lambda: n.over("1 hour", closed="start"), ValueError, "over(closed=)", "'left'")  # type: ignore[arg-type]
    refused(lambda: n.over("1 hour", closed="rigth"), ValueError, "did you mean 'right'")  # type: ignore[arg-type]
    refused(lambda: n.over("1 hour").over("1 day"), ValueError, "count().over('1 hour').over", "'1 day'")
    refused(lambda: (n.over("1 hour") / n).over("1 day"), ValueError, "count().over('1 hour').over")
    refused(lambda: n.over("1 hour", "left"), TypeError, "over: got 'left' by position", "closed='left'")  # type: ignore[arg-type]
    refused(lambda: wr.window_id().over("1 hour"), ValueError, "window_id().over", "no over")
    refused(lambda: wr.session_number().over("1 hour"), ValueError, "it is the number of a session")
    share = wr.sum("amount") / wr.window_length()
    refused(lambda: share.over("1 hour"), ValueError, "window_length()).over", "no over", "'1 hour'")
    refused(lambda: share.where("flag"), ValueError, "window_length()).where(column=)", "no condition", "'flag'")
    length = wr.window_length().then(lambda lengths: lengths)
    refused(lambda: length.over("1 hour"), ValueError, "window_length().then(", "no over")
    refused(lambda: wr.reduce("amount", max).over("1 hour"), ValueError, "reduce(...).over", "apply")
    longer = lambda: paid().with_columns(n=n.over("31 minutes"))  # noqa: E731
    refused(longer, ValueError, 'aggregate "n": over(difference=)', "31 minutes", "at most 30 minutes")
    both = lambda: paid().with_columns(n=n.over("20 minutes", delay="11 minutes"))  # noqa: E731
    refused(both, ValueError, "over(difference=)", "delay='11 minutes'", "difference + delay of at most 30 minutes")
    assert paid().with_columns(n=n.over("20 minutes", delay="10 minutes"))["n"].to_pylist() == [0, 0, 0, 1, 4, 4, 0]
    coarse = paid(longest="30 minutes", resolution="10 minutes")
    refused(lambda: coarse.with_columns(n=n.over("15 minutes")), ValueError, "difference", "multiple", "10 minutes")
    late = n.over("10 minutes", delay="15 minutes")
    refused(lambda: coarse.with_columns(n=late), ValueError, "over(delay=)", "multiple", "10 minutes")
    seconds = PAID.set_column(1, "ts", PAID["ts"].cast(pa.timestamp("s")))
    odd = lambda: paid(seconds).with_columns(n=n.over("1500 milliseconds"))  # noqa: E731
    refused(odd, ValueError, "a multiple of the resolution, 1 second")
    sessions = wr.group_by(PAID, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
    refused(lambda: sessions.with_columns(n=n.over("1 hour")), ValueError, 'aggregate "n": over', "SlidingWindows")
    refused(lambda: sessions.agg(n=n.over("1 hour")), ValueError, 'aggregate "n": over', "with_columns")
    refused(lambda: paid().agg(n=n.over("1 minute")), ValueError, 'aggregate "n": over', "with_columns")
    refused(lambda: paid().to_reader(x=n.over("1 minute") / n), ValueError, "over", "with_columns")
