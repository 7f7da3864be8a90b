"""Replays recorded runs of Kafka Streams: `python -m windrow.testing.replay FILE...`."""

from __future__ import annotations

import sys

from windrow._replay.command import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
