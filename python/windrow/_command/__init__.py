"""The command `windrow`: windows of CSV and Parquet files, in this process.

```text
windrow sessions clicks.parquet --key user --time ts --gap "30 minutes" --agg clicks=count --out sessions.parquet
windrow sliding clicks.csv --key user --time ts --difference "10 minutes" --agg spend=sum:amount --out spend.csv
```

| file | what |
|---|---|
| `arguments` | the command line |
| `aggregate` | `--agg name=function:column` |
| `file` | what a file is, by its name |
| `source` | CSV and Parquet files, read batch by batch |
| `time_column` | timestamps of text, integers and dates |
| `progress` | a bar in a terminal |
| `sink` | rows of windows, written as CSV or Parquet |
| `picture` | `--timeline KEY` |
| `main` | one run: exit code 0, or 2 and one line of what is wrong |

`python -m windrow` is the same command.
"""
