"""Python functions as aggregates: the core's calls, and conversions from Python values to Arrow and back.

| file | what |
|---|---|
| `fold` | the functions of one aggregate, as the core calls them |
| `runs` | the functions over windows of sorted rows |
| `check` | checks what functions return against an Arrow type |
| `check_scalar` | the same of single values: numbers, texts, times |
| `plain_values` | what most functions return, as arrays of many values at once |
| `python_shape` | the class of a value, by its Arrow type and by what `init` makes |
| `python_values` | Arrow's values as Python's, which lack some: times after the year 9999 |
| `user_code` | whether a function returns anything, and where in it an exception was raised |
| `collector` | Python's garbage collector |
"""
