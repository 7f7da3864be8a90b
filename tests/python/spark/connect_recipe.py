"""A stream over Spark Connect into a sink of docs/how-to/sinks.md, whose function runs at the server.

SPARK_REMOTE=sc://127.0.0.1:PORT python -m tests.python.spark.connect_recipe FOLDER EMIT SINK ARGUMENT...
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from .recipe import events, program, run


def main(place: str, emit: str, sink: str, *arguments: str) -> None:
    """Runs the query over the micro-batches of `events(1)`, and over a record that is late enough to close them."""
    files = [*events(1), [("z", 9_000, 0)]]
    run(SparkSession.builder.getOrCreate(), Path(place), files, program()[sink](*arguments), emit)


if __name__ == "__main__":
    main(*sys.argv[1:])
