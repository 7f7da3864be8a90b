"""One node of Kafka (KRaft: broker and controller in one process) on loopback, that can be killed and started again."""

from __future__ import annotations

import base64
import random
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from ..deadline import until
from ..maven import built, class_path, java

PROJECT = Path(__file__).resolve().parent
PATIENCE = 60
"""How many seconds a node may take to answer."""
CLUSTER = base64.urlsafe_b64encode(b"windrow's broker").decode()[:22]
WARDEN = 'read -r line; kill -KILL "$1"; sleep 1; rm -rf "$2"'
"""Waits for a line that never comes: when its input ends, this process has gone, and broker and folder follow."""
NONE: Mapping[str, str] = MappingProxyType({})
ONES = (
    "default.replication.factor",
    "offsets.topic.replication.factor",
    "offsets.topic.num.partitions",
    "transaction.state.log.replication.factor",
    "transaction.state.log.min.isr",
    "transaction.state.log.num.partitions",
    "share.coordinator.state.topic.replication.factor",
    "share.coordinator.state.topic.min.isr",
    "share.coordinator.state.topic.num.partitions",
)


class Broker:
    """A node with its own folder and ports; `with Broker() as broker:` starts it and leaves nothing behind.

    Its process ends with this one, however this one ends.

    Attributes:
        address: what clients call `bootstrap.servers`.
    """

    def __init__(self, settings: Mapping[str, str] = NONE) -> None:
        """A node that is not started yet. `settings` come after those that are needed."""
        self._jars = class_path(built(PROJECT))
        self._place = Path(tempfile.mkdtemp(prefix="windrow-kafka-"))
        self._port, controller = free_ports()
        self.address = f"127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None
        self._warden: subprocess.Popen[bytes] | None = None
        self._settings = self._place / "server.properties"
        lines = {**_settings(self._port, controller, self._place / "data"), **settings}
        self._settings.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Starts the process and waits until it answers; after `kill` with all that it had."""
        if not (self._place / "data").exists():
            tool = ["kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(self._settings)]
            said = subprocess.run([java(), "-cp", self._jars, *tool], check=False, capture_output=True, text=True)
            if said.returncode:
                raise RuntimeError(f"the storage of the broker cannot be made:\n{said.stdout}{said.stderr}")
        small = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        with (self._place / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [java(), *small, "-cp", self._jars, "kafka.Kafka", str(self._settings)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._place,
                start_new_session=True,
            )
        self._warden = subprocess.Popen(
            ["/bin/sh", "-c", WARDEN, "warden", str(self._process.pid), str(self._place)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        until(self._answers, PATIENCE, f"the broker at {self.address} answers")

    def kill(self) -> None:
        """Ends the process at once, as `kill -9` does. What clients were told is written stays."""
        if self._warden is not None:
            self._warden.kill()
            self._warden.wait()
            assert self._warden.stdin is not None
            self._warden.stdin.close()
            self._warden = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """Ends the process and removes its folder."""
        self.kill()
        shutil.rmtree(self._place, ignore_errors=True)

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            said = (self._place / "log").read_text(errors="replace").splitlines()[-30:]
            raise RuntimeError("the broker has ended:\n" + "\n".join(said))
        try:
            socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
        except OSError:
            return False
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        try:
            return bool(AdminClient({"bootstrap.servers": self.address, "log_level": 0}).list_topics(timeout=5).brokers)
        except KafkaException:
            return False


def free_ports() -> tuple[int, int]:
    """Two ports that nobody listens on, below those that the system gives to clients.

    A client that looks for a broker which is away could be given the broker's own port, and talk to itself.
    """
    found: list[int] = []
    for port in random.SystemRandom().sample(range(20_000, 32_000), 200):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == 2:
            return found[0], found[1]
    raise RuntimeError("no two of 200 ports from 20000 to 32000 are free")


def _settings(port: int, controller: int, data: Path) -> dict[str, str]:
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(data),
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "false",
        "log.retention.ms": "-1",  # event times of long ago stay
        **dict.fromkeys(ONES, "1"),
    }
