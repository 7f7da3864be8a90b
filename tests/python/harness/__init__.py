"""Shared test code: data, queries over it, and checks of results against the oracle.

| file | what |
|---|---|
| `tables` | converts tables to the oracle's records, and checks results against its windows |
| `families` | value types, and the aggregates defined over each |
| `nested` | values that Python functions can change in place |
| `spark_scenes` | events in Spark |
| `sources` | streams of several sources, and drivers of them |
| `players` | plays a scenario with the package and the oracle |
| `shrink` | shrinks a failing scenario |
| `virtual_kafka` | a Kafka in memory, in virtual time |
| `golden` | the recorded runs of Kafka Streams |
"""
