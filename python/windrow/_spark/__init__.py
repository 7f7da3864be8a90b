"""Queries over Spark DataFrames. `configure`, `environment` and `ticks` import no PySpark at load time.

| file | what |
|---|---|
| `configure` | the session settings that matter |
| `environment` | the PySpark versions that windrow supports, and the Python of Spark's workers |
| `frame` | the common parts of batch and streaming DataFrames |
| `expressions` | columns that are expressions |
| `batch` | queries over a batch DataFrame |
| `streaming` | queries over a streaming DataFrame |
| `ticks` | a stream of ticks by the wall clock |
| `types` | converts Spark types and Arrow types |
"""
