"""The command `windrow`: windows over CSV and Parquet files, in this process.

```text
windrow sessions clicks.parquet --key user --time ts --gap "30 minutes" --agg clicks=count --out sessions.parquet
windrow sliding clicks.csv --key user --time ts --difference "10 minutes" --agg spend=sum:amount --out spend.csv
```

| file | what |
|---|---|
| `arguments` | the command line |
| `aggregate` | `--agg name=function:column` |
| `file` | the format of a file, read from its name |
| `source` | reads CSV and Parquet files, batch by batch |
| `time_column` | timestamps from text, integers and dates |
| `gap_column` | gaps from durations and integers |
| `progress` | a progress bar in the terminal |
| `sink` | writes windows as CSV or Parquet |
| `picture` | `--timeline KEY` |
| `main` | one run: exit code 0, or 2 with a one-line error |

`python -m windrow` is the same command.
"""
