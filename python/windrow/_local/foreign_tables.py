"""Tables of other libraries that give no Arrow stream themselves, and the call that makes each fit; for errors."""

from __future__ import annotations

from windrow._arguments.errors import class_of

_CALLS = {
    ("pyiceberg", "Table"): "{0}.scan().to_arrow_batch_reader()",
    ("pyiceberg", "TableScan"): "{0}.to_arrow_batch_reader()",
    ("deltalake", "DeltaTable"): 'deltalake.QueryBuilder().register("t", {0}).execute("SELECT * FROM t")',
    ("daft", "DataFrame"): "{0}.to_arrow()",
    ("vortex", "VortexFile"): "{0}.to_arrow()",
    ("vortex", "Array"): "{0}.to_arrow_table()",
    (
        "pypaimon",
        "Table",
    ): "read.new_read().to_arrow(read.new_scan().plan().splits()), with read = {0}.new_read_builder()",
    ("narwhals", "LazyFrame"): "{0}.collect()",
    ("pyspark", "Frame"): "{0}.to_spark()",
    ("dask", "DataFrame"): "{0}.compute()",
    ("modin", "DataFrame"): "{0}.modin.to_pandas()",
    ("cudf", "DataFrame"): "{0}.to_arrow()",
    ("vaex", "DataFrame"): "{0}.to_arrow_table()",
    ("datasets", "Dataset"): '{0}.with_format("arrow")[:]',
    # Datasets of Lance and Vortex are datasets of pyarrow.
    ("pyarrow", "Dataset"): "{0}.scanner().to_reader()",
    ("pyarrow", "Scanner"): "{0}.to_reader()",
    ("pyarrow", "ParquetFile"): "{0}.read()",
    ("pyarrow", "ParquetDataset"): "{0}.read()",
}
"""By the library and the name of a class or of a base of it."""


def wrong_table(argument: str, data: object, allowed: str) -> TypeError:
    """The error for data that gives no Arrow stream: its class with its module, and its call if that is known.

    >>> str(wrong_table("data", object(), "a table"))
    'data: got builtins.object; allowed: a table'
    """
    classes = [(kind.__module__.partition(".")[0], kind.__name__) for kind in type(data).__mro__]
    call = next((_CALLS[kind] for kind in classes if kind in _CALLS), None)
    return TypeError(f"{argument}: got {class_of(data)}; allowed: {allowed if call is None else call.format(argument)}")
