"""The offsets of Kafka sources in the log of a streaming query.

Spark writes one file for each micro-batch: `offsets/<batch>` when it begins, `commits/<batch>` when it is committed.
A file of offsets is text: the version, the settings, then a line for each source. From version 2 on (Spark 4.2), the
lines begin with the name of the source.

| line | source |
|---|---|
| `{"clicks":{"0":17,"1":4}}` | Kafka: the next offset of each partition |
| `-` | any, without offsets so far |
| everything else | another source |
"""

from __future__ import annotations

import json
import os
from typing import Any

from windrow._arguments.errors import bad_type, bad_value
from windrow._arguments.integer import integer
from windrow._spark.environment import check_session
from windrow._spark.release import check_checkpoints

_COMMITTED = "the checkpointLocation of a streaming query that has committed a micro-batch"


def kafka_offsets(spark: object, checkpoint: object, batch: object, source: object) -> str:
    """The offsets after a committed micro-batch, of one Kafka source."""
    check_session(spark)
    check_checkpoints(spark)
    if not isinstance(checkpoint, str | os.PathLike):
        raise bad_type("checkpoint", checkpoint, _COMMITTED)
    path = os.fspath(checkpoint)
    begun, committed = (_log(spark, path, name) for name in ("offsets", "commits"))
    batches = sorted(begun.keys() & committed.keys())
    if not batches:
        raise bad_value("checkpoint", path, _COMMITTED)
    number = batches[-1] if batch is None else integer("batch", batch, "the number of a micro-batch, or None", least=0)
    if number not in batches:
        what = f"{number}, which is not committed" if number in begun or number > batches[-1] else f"{number}"
        allowed = f"a micro-batch that is committed and still in the log of {path!r}: {batches[0]} to {batches[-1]}"
        raise ValueError(f"batch: got {what}; allowed: {allowed}")
    return _of_source(_sources(begun[number]), source, path)


def _of_source(sources: dict[str, Any], source: object, path: str) -> str:
    kafka = {name: offsets for name, offsets in sources.items() if _is_kafka(offsets)}
    if not kafka:
        raise bad_value("checkpoint", path, "the checkpoint of a query that has read records from Kafka")
    shown = ", ".join(f"{name} ({', '.join(offsets)})" for name, offsets in kafka.items())
    if source is None:
        if len(kafka) > 1:
            raise bad_value("source", None, f"one of the Kafka sources of the query, here with their topics: {shown}")
        return json.dumps(*kafka.values())
    if isinstance(source, bool) or not isinstance(source, int | str):
        raise bad_type("source", source, f"the number or the name of a Kafka source: {shown}")
    if str(source) not in kafka:
        raise bad_value("source", source, f"a Kafka source of the query, here with their topics: {shown}")
    return json.dumps(kafka[str(source)])


def _log(spark: Any, path: str, name: str) -> dict[int, str]:
    """The files of a log, by micro-batch; none if there is no log."""
    place = f"{path.rstrip('/')}/{name}"
    try:
        files = spark.read.text(place, wholetext=True).selectExpr("_metadata.file_name", "value").collect()
    except Exception as error:
        if "PATH_NOT_FOUND" not in str(error):
            raise
        return {}
    return {int(row["file_name"]): row["value"] for row in files if row["file_name"].isdecimal()}


def _sources(text: str) -> dict[str, Any]:
    """The offsets of each source, by its number or its name."""
    version, _, *lines = text.splitlines()
    if version not in ("v1", "v2"):
        raise ValueError(f"checkpoint: its offsets have the format {version!r}; allowed: 'v1' and 'v2'")
    named = (line.partition(":")[::2] for line in lines) if version == "v2" else enumerate(lines)
    return {str(name): None if line == "-" else json.loads(line) for name, line in named}


def _is_kafka(offsets: Any) -> bool:
    """Whether these are the offsets of topics, by partition."""
    if not isinstance(offsets, dict) or not offsets:
        return False
    return all(
        isinstance(parts, dict)
        and parts
        and all(number.isdecimal() and isinstance(parts[number], int) for number in parts)
        for parts in offsets.values()
    )
