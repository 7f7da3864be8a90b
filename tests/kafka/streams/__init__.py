"""Kafka Streams itself, as the reference: Windows.java and what starts it."""
