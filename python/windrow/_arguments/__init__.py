"""What users write as arguments, and the errors that name the argument, the value and what is allowed.

| file | what |
|---|---|
| `errors` | exceptions for the caller to raise |
| `duration` | lengths of time, in words or as a `timedelta` |
| `column` | names of columns, from text or from columns of Spark and Polars |
| `integer` | whole numbers |
| `list_types` | the list types of the installed pyarrow |
| `ddl` | types in Spark's words |
"""
