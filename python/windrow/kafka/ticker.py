"""Sends ticks for producers that you cannot change: `python -m windrow.kafka.ticker --bootstrap ... --topics ...`.

The ticker watches the ends of partitions. If an end has not moved for `progress.control.start.ms`, the ticker sends
control messages like those of `ProgressProducer`. Their time is the largest time of the last records, plus the quiet
time, minus the allowance. It never writes to an active partition or to one with an open transaction. A partition
without records has no windows, so it needs no ticks. Ticks are in the topic, so reading it again gives the same
windows.

The ticker logs each decision to standard output. SIGINT and SIGTERM end it (exit code 0). It does not start with a
missing topic or wrong options (exit code 2).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from windrow._arguments.errors import bad_value
from windrow.kafka._cluster import Cluster, KafkaCluster, TopicPartition
from windrow.kafka._control import ControlMessage
from windrow.kafka._library import confluent_kafka
from windrow.kafka._options import OPTIONS, PREFIX, ProgressOptions
from windrow.kafka._sender import produce
from windrow.kafka._stop import StopSignals
from windrow.kafka._timer import ThreadTimer
from windrow.kafka._watch import COUNTERS, TAIL, Send, Watch

_TOPICS = f"{PREFIX}topics.include"
_REFRESH = 60_000  # how often to look for new partitions, in milliseconds
_LARGEST = 10**9  # the limit of the command's own numbers


def arguments(argv: Sequence[str]) -> argparse.Namespace:
    """The parsed command line. Exits with code 2 if it is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m windrow.kafka.ticker",
        description="Sends control messages to the partitions of topics that stay quiet.",
        allow_abbrev=False,
    )
    parser.add_argument("--bootstrap", required=True, metavar="HOST:PORT", help="brokers, separated by commas")
    parser.add_argument("--topics", required=True, metavar="TOPIC", help="topics, separated by commas")
    parser.add_argument(
        "--command-config", metavar="FILE", type=Path, help="a file of client settings, one name=value per line"
    )
    parser.add_argument(
        "--interval-ms", type=_positive, default=1_000, help="how often the ends of partitions are checked (1000)"
    )
    parser.add_argument("--tail", type=_positive, default=TAIL, help=f"how many of the last offsets are read ({TAIL})")
    parser.add_argument("--dry-run", action="store_true", help="print what would be sent, and send nothing")
    for option in OPTIONS:
        if option.name != _TOPICS:
            default = "" if option.default is None else f" ({option.default})"
            parser.add_argument(f"--{option.name}", dest=option.name, metavar="VALUE", help=option.meaning + default)
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs until a signal arrives. Returns the exit code."""
    parsed = arguments(sys.argv[1:] if argv is None else argv)
    with StopSignals() as signals:
        try:
            config = _settings(parsed)
            options = ProgressOptions.of(config)
            cluster = KafkaCluster(config, timeout=options.timeout, committed=True)
            send = None if parsed.dry_run else sender(config, options)
            topics = sorted(options.topics)
            cluster.partitions(topics)
        except Exception as error:  # from the arguments, a file or the first request to a broker
            came = signals.wait(0)
            if came is not None:
                log(f"{came.name}: ends before it has begun")
                return 0
            print(f"ticker: {error}", file=sys.stderr)
            return 2
        watch = Watch(options, cluster, send, log, parsed.tail)
        signal = run(watch, cluster, topics, signals.wait, parsed.interval_ms / 1000)
        cluster.close()
    log(f"{signal.name}: ends; " + ", ".join(f"{name} {watch.counters[name]}" for name in COUNTERS))
    return 0


def run(watch: Watch, cluster: Cluster, topics: Sequence[str], wait: Callable[[float], Any], interval: float) -> Any:
    """Checks all partitions every `interval` seconds until `wait` returns a signal. Returns the signal."""
    clock = ThreadTimer("ticker")
    partitions, refreshed = list[TopicPartition](), None
    while (stopped := wait(0)) is None:
        now = clock.now()
        if refreshed is None or now - refreshed >= _REFRESH:
            try:
                listed_partitions = cluster.partitions(topics)
            except Exception as error:
                log(f"partitions are not known: {error}")
            else:
                refreshed = now
                if partitions != listed_partitions:
                    log(f"watches {', '.join(map(str, listed_partitions))}")
                partitions = listed_partitions
        watch.look(partitions, clock.now(), lambda: wait(0) is not None)
        wait(interval)
    return stopped


def sender(config: dict[str, object], options: ProgressOptions) -> Send:
    """A function that sends a control message through its own producer and waits until it has arrived."""
    library = confluent_kafka()
    settings = {name: value for name, value in config.items() if not name.startswith("progress.")}
    settings.pop("transactional.id", None)
    producer = library.Producer(settings | {"message.timeout.ms": options.timeout, "linger.ms": 0})
    producer_id = uuid4()

    def send(partition: TopicPartition, time: int, sequence: int) -> int:
        settled = list[Any]()
        message = ControlMessage(time, sequence, producer_id)
        produce(producer, partition, message, options, lambda *answer: settled.append(answer))
        producer.flush(options.timeout / 1000 + 1)
        if not settled:
            raise TimeoutError(f"no answer within {options.timeout} ms")
        error, record = settled[0]
        if error is not None:
            raise library.KafkaException(error)
        return int(record.offset())

    return send


def log(what: str) -> None:
    """Prints a log line with the time in front."""
    print(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + f"Z {what}", flush=True)


def _settings(options: argparse.Namespace) -> dict[str, object]:
    """The client settings and the options of control messages."""
    settings: dict[str, object] = {}
    if options.command_config is not None:
        try:
            text = options.command_config.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise bad_value(
                "--command-config", str(options.command_config), f"a file of UTF-8 text ({error})"
            ) from None
        for number, line in enumerate(text.splitlines(), 1):
            name, equals, value = (part.strip() for part in line.partition("="))
            if name and not name.startswith(("#", "!")):
                if not equals:
                    raise ValueError(f"{options.command_config}, line {number}: got {line!r}; allowed: name=value")
                settings[name] = value
    values = {option.name: getattr(options, option.name, None) for option in OPTIONS}
    settings |= {name: value for name, value in values.items() if value is not None}
    settings |= {"bootstrap.servers": options.bootstrap, _TOPICS: options.topics}
    if not ProgressOptions.of({_TOPICS: options.topics}).topics:
        raise ValueError(f"--topics: got {options.topics!r}; allowed: at least one topic")
    return settings


def _positive(text: str) -> int:
    if not (text.isdecimal() and text.isascii() and len(text) <= 10 and 1 <= int(text) <= _LARGEST):
        raise argparse.ArgumentTypeError(f"got {text}; allowed: 1 to {_LARGEST}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
