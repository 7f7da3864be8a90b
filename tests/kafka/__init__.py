"""Tests on a real Kafka: a broker on loopback, Spark's connector, Kafka Streams as the reference. See README.md."""
