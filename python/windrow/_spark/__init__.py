"""Queries over DataFrames of Spark. `configure`, `environment` and `ticks` import no PySpark.

| file | what |
|---|---|
| `configure` | the settings of a session that matter; imports no pyspark |
| `environment` | which PySpark windrow works with, and the Python of its workers |
| `frame` | what batch and streaming DataFrames have alike |
| `batch` | queries over a batch DataFrame |
| `streaming` | queries over a streaming DataFrame |
| `ticks` | a stream of ticks by the wall clock; imports no pyspark before it is called |
| `types` | Spark types and Arrow types |
"""
