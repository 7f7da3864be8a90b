"""A PostgreSQL of a test's own, on a socket in a folder: no port, no password, gone at the end."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

DEADLINE = 60.0
"""Seconds for a server to come up."""

OWNER = "postgres"
"""Who runs the server where the test runs as root, which PostgreSQL refuses: Debian's package makes this user."""


def programs() -> Path:
    """The folder of `initdb` and `postgres`; Debian keeps them off the path."""
    found = shutil.which("initdb")
    places = [Path(found)] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not places:
        raise FileNotFoundError("PostgreSQL's initdb is missing: Debian and Ubuntu: apt install postgresql")
    return places[-1].parent


@contextmanager
def server() -> Iterator[str]:
    """The address of a server, as psycopg takes it."""
    owner = OWNER if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="pg") as place:  # short, as a socket's path has to be
        if owner is not None:
            os.chown(place, pwd.getpwnam(owner).pw_uid, -1)
        data = f"{place}/data"
        made = [programs() / "initdb", "-D", data, "-U", "windrow", "--auth=trust", "-E", "UTF8"]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL, user=owner, cwd=place)
        run = [programs() / "postgres", "-D", data, "-k", place, "-c", "listen_addresses=", "-c", "fsync=off"]
        with subprocess.Popen(run, stderr=subprocess.DEVNULL, user=owner, cwd=place) as process:
            try:
                address = f"host={place} user=windrow dbname=postgres"
                _wait(address)
                yield address
            finally:
                process.terminate()


def _wait(address: str) -> None:
    end = time.monotonic() + DEADLINE
    while True:
        try:
            psycopg.connect(address).close()
            return
        except psycopg.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
