"""Queries over DataFrames of Spark. But for `configure`, `ticks` and `version` nothing is imported before there is one.

| file | what |
|---|---|
| `configure` | the settings of a session that matter; imports no pyspark |
| `dataframe` | queries over a batch DataFrame |
| `flat` | the bounds of windows as columns |
| `pickled` | Python functions on their way to executors |
| `ticks` | a stream of ticks by the wall clock; imports no pyspark before it is called |
| `types` | Spark types and Arrow types |
| `version` | which PySpark windrow works with |
"""
