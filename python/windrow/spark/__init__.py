"""Queries over DataFrames of Spark. But for `configure` and `version` nothing here is imported before there is one.

| file | what |
|---|---|
| `configure` | the settings of a session that matter; imports no pyspark |
| `dataframe` | queries over a batch DataFrame |
| `types` | Spark types and Arrow types |
| `version` | which PySpark windrow works with |
"""
