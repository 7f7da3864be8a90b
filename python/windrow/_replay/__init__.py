"""Recorded runs of Kafka Streams, against windrow. `windrow.testing.replay` is the command.

| file | what |
|---|---|
| `scenario` | a run: parameters and answers |
| `recording` | files of runs |
| `command` | replays them, and says what differs |
"""
