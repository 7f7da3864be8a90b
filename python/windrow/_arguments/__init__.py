"""What users write as arguments, and the errors that name the argument, the value and what is allowed.

| file | what |
|---|---|
| `errors` | exceptions for the caller to raise |
| `duration` | lengths of time, in words or as a `timedelta` |
| `expression` | columns by name, and expressions of Spark, Polars, pyarrow and DuckDB |
| `other_names` | windrow's names for what other libraries have |
| `column` | names among the columns of the data |
| `integer` | whole numbers |
| `nested` | types inside types, and the list types of the installed pyarrow |
| `ddl` | types in Spark's words |
"""
