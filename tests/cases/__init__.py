"""The book of cases: what each numbered rule of `docs/rules.md` says, as records and the windows that they give.

A case has a rule, a name, a query and a drawing. There are two kinds of drawings.

A *timeline* shows what a set of records gives, in any order of arrival:

```text
ann   0     5         11       a line for each key, with the times of its records
      ├─────┤         ┤        its windows: from 0 to 5 with two records, and at 11 with one
```

A bracket stands below the first digit of its time. A window has as many records as the line shows in it, unless a
number is in the bracket (`├──3──┤`) or values follow it (`├─────┤ n=2 total=7`). A line `time` has further times for
brackets.

A *script* shows what records give as they arrive. Each line is a micro-batch:

```text
ann 0, ann 3   → nothing
tick 9         → nothing             stream time, without a record
tick 10        → ann 0..3 n=2        a final window
counters late=0 records=2            the counters in the end
```

`upsert`, `delete`, `late` and `left_out` before a window say what the row is (rules 6.1). A record may have further
columns: `ann 3 gap=5 end`, `ann 3 until=7`. `-` in the place of a key or of a time is null. `orders:ann 3` is a record
of the input `orders` of a cogroup. `to 10` ends a run of `advance`; `stream` after such lines begins a stream with the
windows that they left open, and `finish` closes all windows. What follows two spaces and `#` is a comment.

One unit of time is a millisecond after 1970 began; `2h` is two hours.

| file | what |
|---|---|
| `query` | a query as data |
| `drawing` | reads drawings |
| `case` | a case, the ways that it may be played, and what may be wrong with it |
| `book` | all cases |
| `__main__` | prints a rule and its cases, or how many cases each rule has |
| `section_1` to `section_9` | the cases of each section of the rules; a long one has several files |
| `book.jsonl` | the same cases for programs without Python: `rust/record/tests/book.rs` plays them |

Each way of `tests/python/harness/ways.py` plays each case. `python -m tests.cases 2.6` prints a rule and its cases, and
`pytest --rule 2.6 tests/python/conformance` plays them.
"""
