"""Queries over Spark DataFrames. `configure`, `environment`, `release` and `ticks` import no PySpark at load time.

| file | what |
|---|---|
| `configure` | the session settings that matter |
| `environment` | the PySpark versions that windrow supports, and the Python of Spark's workers |
| `frame` | the common parts of batch and streaming DataFrames |
| `declared` | DataFrames whose columns and kind the user declares, for pipelines |
| `expressions` | columns that are expressions |
| `batch` | queries over a batch DataFrame |
| `streaming` | queries over a streaming DataFrame |
| `processor` | the stateful step of a streaming query, over rows or over pandas frames |
| `release` | what differs between the releases of Spark |
| `ticks` | a stream of ticks by the wall clock |
| `types` | converts Spark types and Arrow types |
"""
