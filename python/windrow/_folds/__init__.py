"""Python functions as aggregates: the core's calls, and conversions from Python values to Arrow and back.

| file | what |
|---|---|
| `fold` | the functions of one aggregate, as the core calls them |
| `runs` | the functions over windows of sorted rows |
| `check` | what functions return, held to an Arrow type |
| `check_scalar` | the same of single values: numbers, texts, times |
| `plain_values` | what most functions return, as arrays of many values at once |
| `python_shape` | of which class a value is, by its Arrow type and by what `init` makes |
| `python_values` | values of Arrow as Python has them, or has not: times past the year 9999 |
| `user_code` | whether a function returns anything, and where in it an exception was raised |
| `collector` | Python's garbage collector |
"""
