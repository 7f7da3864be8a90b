"""The steps of a streaming query.

| file | what |
|---|---|
| `query` | what the steps of one streaming query have to know, as plain data |
| `pack` | the first step: the rows of a split to blocks of shards, and control rows |
| `order` | the records of a split in the order of their source, with the times that judge them |
| `ticks` | the sources of rows, and the ticks that move their times |
| `control` | how far sources have come, and what was counted: sent by a split to every shard |
| `shard` | the second step: the blocks of a shard and its state to changes |
| `pages` | the state of a shard as pages in Spark's state store |
| `index` | what these pages are |
| `change_block` | changes on their way to the last step, and that step |
| `returned_records` | records that come back with their windows |
"""
