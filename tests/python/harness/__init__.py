"""Shared test code: data, queries over it, and checks of results against the oracle.

| file | what |
|---|---|
| `tables` | Arrow tables to the oracle's records, results against the oracle's windows |
| `families` | types of values, and the aggregates that are defined over each |
| `cogroups` | queries over several inputs |
| `nested` | values that Python functions can change in place |
| `scenes` | events in Spark |
| `sources` | streams of several sources, and drivers of them |
| `players` | a scenario of the oracle, played by the package |
| `shrink` | a failing scenario made small |
| `virtual_kafka` | a Kafka in memory, in virtual time |
| `golden` | the recorded runs of Kafka Streams |
"""
