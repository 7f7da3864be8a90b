"""The steps of a streaming query.

| file | what |
|---|---|
| `query` | the data that all steps of a streaming query need |
| `pack` | the first step: packs the rows of a split into blocks and control rows |
| `order` | the records of a split in the order of their source, with the times that judge them |
| `ticks` | the sources of rows, and the ticks that move their times |
| `control` | the progress and counters that a split sends to every shard |
| `shard` | the second step: turns the blocks and state of a shard into changes |
| `pages` | the state of a shard as pages in Spark's state store |
| `index` | the index of these pages |
| `change_block` | blocks of changes, and the last step, which reads them |
| `returned_records` | records returned with their windows |
"""
