"""A broker of Kafka on loopback, of one node, which is its own controller."""

from .node import Broker

__all__ = ["Broker"]
