"""A broker to try things on: `python -m tests.kafka.broker` prints its address and ends with its standard input."""

import sys

from .node import Broker

with Broker() as broker:
    print(broker.address, flush=True)
    try:
        sys.stdin.read()
    except KeyboardInterrupt:
        sys.exit(0)
