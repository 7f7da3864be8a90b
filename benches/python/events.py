"""Generated events: seeded, about 100 for each user; 10 M of them make about 783,000 five-minute sessions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SEED = 20_261_101
GAP_MICROSECONDS = 300_000_000
EVENTS_OF_A_USER = 100
MEAN_DISTANCE = 113_200_000  # microseconds between two events of a user
EPOCH = 1_767_225_600_000_000  # 2026-01-01

ORDERS = ("in order", "shuffled")
KEYS = ("i64", "string")


def table(count: int, order: str, key: str, users: int | None = None) -> pa.Table:
    """`count` events of columns user, ts and amount. Every order and key type holds the same events.

    All numbers of users have their events in the same three hours, so with more users each has fewer.
    """
    random = np.random.default_rng(SEED)
    users = users or max(1, count // EVENTS_OF_A_USER)
    user = random.integers(0, users, count)
    ts = EPOCH + np.sort(random.integers(0, EVENTS_OF_A_USER * MEAN_DISTANCE, count))
    amount = random.integers(1, 10_000, count) / 100
    if order == "shuffled":
        permutation = random.permutation(count)
        user, ts, amount = user[permutation], ts[permutation], amount[permutation]
    named = pa.array(user)
    if key == "string":
        names = pa.array([f"user-{number:08d}" for number in range(users)])
        named = names.take(named)
    return pa.table({"user": named, "ts": pa.array(ts, pa.timestamp("us")), "amount": amount})


def write(path: Path, count: int, order: str, key: str, users: int | None = None) -> None:
    """The events as one Parquet file of several row groups, so that Spark reads it on every core."""
    pq.write_table(table(count, order, key, users), path, row_group_size=max(1, count // 8))
