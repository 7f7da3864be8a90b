"""The command: its arguments, and a run of it in its own process against the broker that librdkafka has."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from windrow.kafka import ControlMessage, ticker
from windrow.kafka._cluster import Ends, KafkaCluster, TopicPartition
from windrow.kafka._options import ProgressOptions
from windrow.kafka._stop import StopSignals

from ..harness.virtual_kafka import VirtualBroker, VirtualCluster, VirtualTimer
from .scene import DEADLINE, NINE

FAST = [
    "--progress.control.start.ms=300",
    "--progress.control.end.ms=900",
    "--progress.control.backoff.ms=100",
    "--interval-ms=50",
]


def write(bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    producer.produce(topic, b"v", partition=1, timestamp=NINE)
    assert producer.flush(DEADLINE) == 0


def records(bootstrap: str, topic: str) -> list[Any]:
    """Those of partition 1."""
    cluster = KafkaCluster({"bootstrap.servers": bootstrap, "log_level": 0}, timeout=10_000, committed=True)
    place = TopicPartition(topic, 1)
    (end,) = cluster.ends([place]).values()
    assert isinstance(end, Ends)
    found = list(cluster.records(place, 0, end.high))
    cluster.close()
    return found


def run_until(arguments: list[str], seen: Callable[[str], bool], number: int) -> tuple[int, list[str]]:
    """Runs the command until it has printed a line, ends it by a signal; its exit code and its lines."""
    command = subprocess.Popen(
        [sys.executable, "-m", "windrow.kafka.ticker", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    watchdog = threading.Timer(DEADLINE, command.kill)
    watchdog.start()
    try:
        assert command.stdout is not None
        lines = []
        for line in command.stdout:
            lines.append(line.rstrip("\n"))
            if seen(line):
                command.send_signal(number)
                break
        lines += [line.rstrip("\n") for line in command.stdout]
        return command.wait(), lines
    finally:
        watchdog.cancel()
        command.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ticks_what_is_quiet_and_ends_by_a_signal(bootstrap: str, number: signal.Signals) -> None:
    topic = f"quiet-{number.name}"
    write(bootstrap, topic)
    given = ["--bootstrap", bootstrap, "--topics", topic, *FAST]
    code, lines = run_until(given, lambda line: "last tick" in line, number)
    assert code == 0
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z .+", line) for line in lines), lines
    assert f"watches {topic}-0, {topic}-1, {topic}-2, {topic}-3" in lines[0]
    ticks = [line for line in lines if f"{topic}-1 tick 2026-01-01T09:00:0" in line]
    assert sum(f"{topic}-0 empty" in line for line in lines) == 1
    assert lines[-1].endswith(
        f"{number.name}: ends; sent {len(ticks)}, failed 0, empty 3, open_transactions 0, told_before 0, "
        "out_of_range 0, unanswered 0"
    )
    found = records(bootstrap, topic)
    read = [ControlMessage.read(record.value, record.headers) for record in found]
    times = [message.event_time - NINE for message in read if message is not None]
    assert read[0] is None
    assert len(times) == len(ticks) >= 1
    assert times == sorted(times)
    assert times[-1] >= 900
    assert [record.timestamp for record in found[1:]] == [NINE + time for time in times]


def test_a_dry_run_leaves_the_topic_as_it_is(bootstrap: str) -> None:
    write(bootstrap, "dry")
    given = ["--bootstrap", bootstrap, "--topics", "dry", "--dry-run", *FAST]
    code, lines = run_until(given, lambda line: "last tick" in line, signal.SIGTERM)
    assert code == 0
    assert any("dry-1 would tick 2026-01-01T09:00:0" in line for line in lines)
    assert len(records(bootstrap, "dry")) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: --bootstrap, --topics"),
        (["--bootstrap=x:1", "--topics=,"], "ticker: --topics: got ','; allowed: at least one topic"),
        (["--bootstrap=x:1", "--topics=a b"], "ticker: progress.control.topics.include: got 'a b'"),
        (["--bootstrap=x:1", "--topics=a", "--progress.control.start.ms=0"], "progress.control.start.ms: got 0;"),
        (["--bootstrap=x:1", "--topics=a", "--interval-ms=0"], "argument --interval-ms: got 0; allowed: 1 to 100"),
        (["--bootstrap=x:1", "--topics=a", "--interval-ms=1000000001"], "got 1000000001; allowed: 1 to 1000000000"),
        (["--bootstrap=x:1", "--topics=a", "--tail=many"], "argument --tail: got many; allowed: 1 to 1000000000"),
        (["--bootstrap=x:1", "--topics=a", "--progress.control.strat.ms=5"], "unrecognized arguments"),
        (["--bootstrap=x:1", "--topics=a", "--command-config=absent"], "--command-config: got 'absent'; allowed:"),
        (["--bootstrap=", "--topics=a"], "ticker: config: bootstrap.servers: got ''; allowed: the brokers"),
    ],
)  # fmt: skip
def test_wrong_arguments_end_it_with_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code: object = ticker.main(arguments)
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert message in capsys.readouterr().err


def test_a_topic_that_is_absent_ends_it_with_code_2_and_stays_absent(
    bootstrap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert ticker.main(["--bootstrap", bootstrap, "--topics=absent"]) == 2
        assert capsys.readouterr().err == "ticker: topic 'absent': it is absent\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_before_a_broker_has_answered_ends_it(number: signal.Signals) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        given = ["--bootstrap", address, "--topics=a", "--progress.control.request.timeout.ms=2000"]
        command = subprocess.Popen(
            [sys.executable, "-m", "windrow.kafka.ticker", *given],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            silent.settimeout(DEADLINE)
            connected, _ = silent.accept()  # it asks, and nobody answers
            command.send_signal(number)
            said, wrong = command.communicate(timeout=DEADLINE)
            connected.close()
        finally:
            command.kill()
    assert (command.returncode, said.partition(" ")[2]) == (0, f"{number.name}: ends before it has begun\n")
    assert "Traceback" not in wrong


def test_a_file_that_is_no_text_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "client").write_bytes(b"client.id=\xff\n")
    assert ticker.main(["--bootstrap=x:1", "--topics=a", f"--command-config={tmp_path / 'client'}"]) == 2
    assert re.match(r"ticker: --command-config: got '.*client'; allowed: a file of UTF-8", capsys.readouterr().err)


def test_settings_come_from_the_file_and_the_command_line_goes_first(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "# a comment\n\nsasl.mechanism = PLAIN\nsasl.jaas.config=a=b\nprogress.control.start.ms=7\n"
        "progress.control.allowance.ms=5\n! another\nbootstrap.servers=other:1\n"
    )
    parsed = ticker.arguments(
        ["--bootstrap=x:1", "--topics=a,b", f"--command-config={file}", "--progress.control.start.ms=8"]
    )
    settings = ticker._settings(parsed)
    assert settings == {
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": "a=b",
        "progress.control.start.ms": "8",
        "progress.control.allowance.ms": "5",
        "bootstrap.servers": "x:1",
        "progress.control.topics.include": "a,b",
    }
    assert ProgressOptions.of(settings).topics == {"a", "b"}
    file.write_text("nonsense")
    with pytest.raises(ValueError, match=r"client\.properties, line 1: got 'nonsense'; allowed: name=value"):
        ticker._settings(parsed)


def test_new_partitions_are_found_and_an_absent_topic_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    timer = VirtualTimer()
    broker = VirtualBroker(timer, partitions={"events": 1})
    cluster = VirtualCluster(broker)
    seen: list[list[Any]] = []

    class Clock:
        def __init__(self, name: str) -> None: ...

        def now(self) -> int:
            return timer.time

    class Watch:
        def look(self, partitions: Any, now: int, ends: Callable[[], bool]) -> None:
            assert not ends()
            seen.append(list(partitions))

    monkeypatch.setattr(ticker, "ThreadTimer", Clock)
    looks, stopped = iter(range(10)), list[bool]()

    def wait(seconds: float) -> str | None:
        if seconds == 0:
            return "stopped" if stopped else None
        assert seconds == 5
        look = next(looks)
        timer.time += 30_000
        if look == 0:
            broker.partitions["events"] = 2
        if look == 3:
            del broker.partitions["events"]
        if look == 6:
            stopped.append(True)
        return None

    assert ticker.run(Watch(), cluster, ["events"], wait, 5) == "stopped"  # type: ignore[arg-type]
    one, two = [("events", 0)], [("events", 0), ("events", 1)]
    assert seen == [one, one, two, two, two, two, two]
    said = [line.partition(" ")[2] for line in capsys.readouterr().out.splitlines()]
    assert said[0] == "watches ('events', 0)"
    assert said[1] == "watches ('events', 0), ('events', 1)"
    assert set(said[2:]) == {"partitions are not known: 'events'"}


def test_a_signal_before_a_wait_ends_it_at_once_and_is_given_back_afterwards() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with StopSignals() as signals:
        assert signals.wait(0) is None
        os.kill(os.getpid(), signal.SIGTERM)
        assert signals.wait(DEADLINE) is signal.SIGTERM
        assert signals.wait(DEADLINE) is signal.SIGTERM
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_signal_during_a_wait_ends_it() -> None:
    with StopSignals() as signals:
        killer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        killer.start()
        assert signals.wait(DEADLINE) is signal.SIGINT
        killer.join()
