"""Queries over DataFrames of Spark. Nothing here is imported before a DataFrame is there, but `configure`.

| file | what |
|---|---|
| `configure` | the settings of a session that matter; imports no pyspark |
| `dataframe` | queries over a batch DataFrame |
| `types` | Spark types and Arrow types |
"""
