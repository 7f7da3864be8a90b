"""Control messages on Kafka without a broker: a virtual one, in virtual time, and the one that librdkafka has."""
