"""Sessions, funnels, paths and positions of a real web log are those of SQL: docs/how-to/web-analytics.md at size."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import windrow as wr

STEPS = [
    "page = '/blog/geekery/solving-good-or-bad-problems.html'",
    "page = '/blog/geekery/insist-on-better-asserts.html'",
    "page = '/blog/geekery/xdotool-2.20110530.html'",
]

HITS = r"""
    SELECT split_part(line, ' ', 1) AS visitor, row_number() OVER () AS number,
           strptime(regexp_extract(line, '\[([^ ]+)', 1), '%d/%b/%Y:%H:%M:%S') AS ts,
           regexp_extract(line, '"GET ([^ ?"]+)', 1) AS page
    FROM lines
    WHERE regexp_matches(line, '" 200 ') AND page <> '' AND NOT regexp_matches(page, '[.](css|js|png|jpg|gif|ico)$')
"""

SQL = """
    WITH pauses AS (
        SELECT *, coalesce(ts - lag(ts) OVER by_time > INTERVAL 30 MINUTE, true) AS begins,
               CASE page WHEN '/blog/geekery/solving-good-or-bad-problems.html' THEN 1
                         WHEN '/blog/geekery/insist-on-better-asserts.html' THEN 2
                         WHEN '/blog/geekery/xdotool-2.20110530.html' THEN 3 ELSE 0 END AS step
        FROM hits WINDOW by_time AS (PARTITION BY visitor ORDER BY ts, number)),
    numbered AS (
        SELECT *, sum(begins::INT) OVER (PARTITION BY visitor ORDER BY ts, number) AS session FROM pauses),
    placed AS (
        SELECT *, row_number() OVER in_session AS position, lag(page) OVER in_session AS before
        FROM numbered WINDOW in_session AS (PARTITION BY visitor, session ORDER BY ts, number)),
    one AS (
        SELECT *, last_value(CASE WHEN step = 1 THEN ts END IGNORE NULLS) OVER in_order AS one
        FROM placed WINDOW in_order AS (PARTITION BY visitor, session ORDER BY ts, step)),
    two AS (
        SELECT *, last_value(CASE WHEN step = 2 AND ts <= one + INTERVAL 10 MINUTE THEN one END IGNORE NULLS) OVER (
                      PARTITION BY visitor, session ORDER BY ts, step) AS two
        FROM one)
"""


@pytest.fixture(scope="module")
def hits(shared: Path) -> Any:
    """The hits of pages in the log."""
    path = shared / "data" / "elastic_apache_access.log.gz"
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    connection = duckdb.connect()
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    connection.register("lines", pa.table({"line": lines}))
    connection.register("hits", connection.sql(HITS).to_arrow_table())
    return connection


def test_the_sessions_of_a_web_log_are_those_of_sql(hits: Any) -> None:
    visits = wr.group_by(hits.table("hits"), "visitor", time="ts").windowed_by(wr.SessionWindows.with_gap("30 minutes"))
    sessions = visits.agg(
        hits=wr.count(), length=wr.window_length(), steps=wr.funnel(STEPS, within="10 minutes"), path=wr.path("page")
    )
    theirs = hits.sql(f"""{SQL}
        SELECT visitor, count(*), max(ts) - min(ts),
               CASE WHEN bool_or(step = 3 AND ts <= two + INTERVAL 10 MINUTE) THEN 3
                    WHEN count(two) > 0 THEN 2 WHEN count(one) > 0 THEN 1 ELSE 0 END,
               list(page ORDER BY ts, number) FILTER (page IS DISTINCT FROM before)
        FROM two GROUP BY visitor, session
    """).fetchall()
    ours = sessions.project("visitor, hits, length, steps, path").fetchall()
    assert sorted(ours) == sorted(theirs)
    reached = [steps for *_, steps, _ in ours]
    assert (len(ours), len(set(reached))) == (len(theirs), 4)
    rows = visits.with_columns(session_number=wr.session_number(), position=wr.position())
    theirs = hits.sql(f"{SQL} SELECT number, session, position FROM placed").fetchall()
    assert sorted(rows.project("number, session_number, position").fetchall()) == sorted(theirs)
