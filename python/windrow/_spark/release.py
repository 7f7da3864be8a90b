"""What differs between the releases of Spark, and Sail. Looks for methods and settings, as vendors add later ones to a
version.

| missing before | what | so windrow |
|---|---|---|
| 4.0 | one class for the DataFrames of classic and Connect | looks at their names |
| 4.0 | `Observation.get` on Connect | refuses an observation |
| 4.0 | `Column.try_cast` | uses `cast` |
| 4.0 | intervals in large Arrow batches | sends their microseconds |
| 4.0 | `transformWithStateInPandas` (4.1 on Connect) | refuses streams |
| 4.0.2 | whole state values above the size of a socket's buffer (SPARK-53870) | refuses streams |
| 4.1 | `transformWithState` over rows | uses the operator over pandas |

Sail is a server of Spark Connect that runs no Spark.

| Sail lacks | so windrow |
|---|---|
| the sort in a plan of `sortWithinPartitions` and `mapInArrow` | sorts packed rows in the task after the sort |
| `DataFrame.observe` | refuses an observation |
| `transformWithState`, and the sources of checkpoints | refuses streams, and `windrow.state` of a checkpoint |

Imports no PySpark at load time.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard
from weakref import WeakKeyDictionary

from windrow._arguments.errors import bad_value

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

ROWS, PANDAS = "transformWithState", "transformWithStateInPandas"
"""The methods of grouped data with state, the better one first."""

_CUTS = {
    "4.0.0": "fa33ea000a0bda9e5a3fa1af98e8e85b8cc5e4d4",
    "4.0.1": "29434ea766b0fc3c3bf6eaadb43a8f931133649e",
}
"""The releases that cut large state values, with their commits. A vendor builds such a version from another one."""

_sails: WeakKeyDictionary[Any, str | None] = WeakKeyDictionary()

_MICROSECONDS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000}


def is_frame(data: object) -> TypeGuard[DataFrame]:
    """Whether this is a DataFrame of Spark, classic or Connect."""
    kinds = type(data).__mro__
    return any(kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.") for kind in kinds)


def sail_of(spark: Any) -> str | None:
    """The version of Sail if it runs the session; None if Spark does, or if nobody may ask."""
    if not _is_connect(spark):
        return None
    if spark not in _sails:
        try:
            said = str(spark.sql("SELECT version()").first()[0])
        except Exception:  # each platform has an error of its own, pipelines have one for all questions
            return None
        # Spark defines `version()` as its version and its git revision, and each vendor's build gives two words as
        # well. Sail gives one, its own version, while `spark.version` is that of the Spark whose protocol it speaks.
        _sails[spark] = said if said and " " not in said else None
    return _sails[spark]


def in_order(frame: DataFrame, order: Sequence[str]) -> tuple[DataFrame, Sequence[str]]:
    """The frame with each partition sorted for `mapInArrow`, and the columns by which its task still has to sort.

    Sail plans no sort there, because its operator for `mapInArrow` asks for no order.
    """
    return (frame.sortWithinPartitions(*order), ()) if sail_of(frame.sparkSession) is None else (frame, order)


def check_checkpoints(spark: Any) -> None:
    """Raises `ValueError` if this session has no source for the checkpoints of streams."""
    sail = sail_of(spark)
    if sail is not None:
        allowed = "a session of Spark; Sail lacks the sources that read checkpoints of streams (statestore)"
        raise bad_value("spark", f"a session of Sail {sail}", allowed)


def check_observation(frame: Any) -> None:
    """Raises `ValueError` if no `Observation` of this frame ever gets its counters."""
    sail = sail_of(frame.sparkSession)
    if sail is not None:
        allowed = (
            "an observation on Spark; Sail lacks DataFrame.observe; left_out('emit', columns=[...]) returns the "
            "records that are in no window"
        )
        raise bad_value("observation", f"an observation on Sail {sail}", allowed)
    if _is_connect(frame) and not _is_of_4(frame):
        allowed = "Spark classic, or Connect from 4.0 on, as its get fails"
        raise bad_value("observation", "an Observation on Spark Connect before 4.0", allowed)


def check_stream(frame: Any) -> None:
    """Raises `ValueError` if this Spark has no operator for a stream's state, or one that damages it."""
    import pyspark

    sail = sail_of(frame.sparkSession)
    if sail is not None:
        allowed = f"batch only, as Sail lacks {ROWS}; streams on Spark 4.0.2 or later"
        raise bad_value("data", f"a streaming DataFrame of Sail {sail}", allowed)
    grouped, got = frame.groupBy(), f"a streaming DataFrame of PySpark {pyspark.__version__}"
    if hasattr(grouped, ROWS):
        return
    if not hasattr(grouped, PANDAS):
        if _is_connect(frame) and _is_of_4(frame):
            allowed = f"batch only, as Spark Connect has {ROWS} from 4.1 on; streams also on Spark classic"
        else:
            allowed = f"batch only, as this Spark has no {ROWS}; streams from Spark 4.0.2 on"
        raise bad_value("data", got, allowed)
    spark = frame.sparkSession
    commit = _CUTS.get(spark.version)
    if commit is not None and commit in spark.sql("SELECT version()").first()[0]:
        allowed = f"batch only, as Spark {spark.version} cuts large state values (SPARK-53870); streams from 4.0.2 on"
        raise bad_value("data", got, allowed)


def may_cut(spark: Any) -> bool:
    """Whether the version is one that cuts large state values, unless a vendor has corrected it there."""
    return spark.version in _CUTS


def has_setting(spark: Any, key: str) -> bool:
    """Whether this Spark has the setting. True if the session refuses to read it."""
    try:
        return spark.conf.get(key) is not None
    except Exception as error:  # each kind of session has its own
        return not any(reason in str(error) for reason in ("SQL_CONF_NOT_FOUND", "NoSuchElement"))


def try_cast(column: Column, kind: str) -> Column:
    """The values as another type. Those that it does not hold are null; before 4.0 only without ANSI mode."""
    return column.try_cast(kind) if hasattr(type(column), "try_cast") else column.cast(kind)


def sendable(frame: DataFrame) -> DataFrame:
    """The frame for `mapInArrow`. Before 4.0 the intervals are bigints of microseconds.

    Spark 3.5 fails while it writes intervals into an Arrow batch of more than some 4,000 rows. The names of the columns
    need no quotes.
    """
    if _is_of_4(frame):
        return frame
    from pyspark.sql import functions as F

    fields = frame.schema.fields
    if not any(_has_interval(field.dataType) for field in fields):
        return frame
    return frame.select(*(_sent(F.col(field.name), field.dataType).alias(field.name) for field in fields))


def _is_connect(frame: Any) -> bool:
    return type(frame).__module__.startswith("pyspark.sql.connect.")


def _is_of_4(frame: Any) -> bool:
    return hasattr(type(frame), "toArrow")


def _has_interval(kind: DataType) -> bool:
    from pyspark.sql.types import DayTimeIntervalType

    from windrow._spark.types import parts

    return any(isinstance(part, DayTimeIntervalType) for part in parts(kind))


def _sent(column: Column, kind: DataType) -> Column:
    """The values with the microseconds of intervals, at any depth."""
    from pyspark.sql import functions as F
    from pyspark.sql import types

    if not _has_interval(kind):
        return column
    if isinstance(kind, types.ArrayType):
        return F.transform(column, lambda element: _sent(element, kind.elementType))
    if isinstance(kind, types.MapType):
        keyed = F.transform_keys(column, lambda key, _: _sent(key, kind.keyType))
        return F.transform_values(keyed, lambda _, value: _sent(value, kind.valueType))
    if isinstance(kind, types.StructType):
        fields = [_sent(column.getField(field.name), field.dataType).alias(field.name) for field in kind.fields]
        return F.when(column.isNotNull(), F.struct(*fields))
    column = column.cast(types.DayTimeIntervalType())  # only this one has every part
    parts = [F.extract(F.lit(part), column).cast("bigint") * F.lit(count) for part, count in _MICROSECONDS.items()]
    seconds = (F.extract(F.lit("SECOND"), column) * F.lit(1_000_000)).cast("bigint")
    return functools.reduce(operator.add, parts, seconds)
