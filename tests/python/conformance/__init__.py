"""The oracle, the recorded runs of Kafka Streams and the package, against each other."""
