"""The entries of a stateful operator in the checkpoint of a streaming query, by Spark's own source of states."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from windrow._arguments.errors import bad_type, bad_value
from windrow._arguments.integer import integer
from windrow._spark.environment import check_session
from windrow._spark.release import check_checkpoints

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MAP = "pages"
_ESCAPED = re.compile(r"""[\s%#?"<>\\^`{|}\[\]]""")
"""The characters of a path that Java's URIs escape."""
_COMMITTED = "the checkpointLocation of a streaming query of windrow that has committed a micro-batch"


def entries(spark: SparkSession, checkpoint: object, operator: object) -> tuple[DataFrame, int]:
    """The entries that the last committed micro-batch has left, and its number: rows of `shard`, `name`, `page`.

    Raises:
        TypeError: arguments of other types.
        ValueError: no such checkpoint, or no state of windrow there.
    """
    from pyspark.sql import functions as F

    check_session(spark)
    check_checkpoints(spark)
    if not isinstance(checkpoint, str | os.PathLike):
        raise bad_type("checkpoint", checkpoint, _COMMITTED)
    number = integer("operator", operator, "the number of a stateful operator of the query, 0 for the first one")
    path = os.fspath(checkpoint)
    if not path:
        raise bad_value("checkpoint", path, _COMMITTED)
    try:
        batch = _last_batch(spark, path, number)
        options = {"path": path, "operatorId": number, "batchId": batch, "stateVarName": _MAP}
        stored = spark.read.format("statestore").options(**options).load()
    except Exception as error:
        if _ESCAPED.search(path) is None:
            raise
        allowed = (
            "a path without blanks, %, # and other characters that URLs escape: Spark's reader of states does not find "
            "such a path, though the query runs there. On a local disk a symbolic link without them helps; otherwise "
            "start the query with another checkpointLocation"
        )
        raise bad_value("checkpoint", path, allowed) from error
    columns = ("key.shard", "user_map_key.name", "user_map_value.page")
    return stored.select(*(F.col(column) for column in columns)), batch


def _last_batch(spark: Any, path: str, operator: int) -> int:
    operators = {row["operatorId"]: row for row in spark.read.format("state-metadata").load(path).collect()}
    if not operators:
        raise bad_value("checkpoint", path, _COMMITTED)
    if operator not in operators:
        numbers = ", ".join(map(str, sorted(operators)))
        raise bad_value("operator", operator, f"the number of a stateful operator of the query in {path!r}: {numbers}")
    metadata = operators[operator]
    properties = json.loads(metadata["operatorProperties"] or "{}") or {}
    names = [variable["stateName"] for variable in properties.get("stateVariables", ())]
    if names != [_MAP]:
        what = (
            f"one of windrow: operator {operator} in {path!r} is {metadata['operatorName']} and has no state of windrow"
        )
        raise bad_value("operator", operator, what)
    if metadata["maxBatchId"] < 0:
        raise bad_value("checkpoint", path, _COMMITTED)
    last: int = metadata["maxBatchId"]
    return last
