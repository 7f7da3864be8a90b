"""The command `windrow`: windows over files, in-process.

```text
windrow sessions clicks.parquet --key user --time ts --gap "30 minutes" --agg clicks=count --out sessions.parquet
windrow sliding clicks.csv --key user --time ts --difference "10 minutes" --agg spend=sum:amount --out spend.csv
```

| file | what |
|---|---|
| `arguments` | the command line |
| `aggregate` | `--agg name=function:column` |
| `inputs` | files, folders, patterns and the standard input |
| `file` | the format of a file |
| `chunks` | opens text files, and reads them in chunks of whole lines |
| `comments` | copies of text files without their comment lines |
| `csv_rows`, `json_rows`, `parquet_rows` | the rows of a file; values of text are text |
| `column_type` | the types of text columns |
| `columns` | what a query reads, and as which type |
| `files` | reads all files, batch by batch |
| `time_column`, `time_format`, `epoch` | timestamps from text, dates and numbers |
| `gap_column` | gaps from durations and numbers |
| `progress` | how far reading is |
| `sink`, `json_lines` | writes windows |
| `picture` | `--timeline KEY` |
| `main` | one run: exit code 0, or 2 with a one-line error |

`python -m windrow` is the same command.
"""
