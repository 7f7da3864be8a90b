"""What is at the place of a query: its micro-batches by its checkpoint, and what its sink has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Checkpoint:
    """The place of a query."""

    place: Path

    @property
    def started(self) -> int:
        """The last micro-batch whose offsets are written; -1 for none."""
        return self._last("offsets")

    @property
    def committed(self) -> int:
        """The last micro-batch that is done; -1 for none."""
        return self._last("commits")

    def cut(self) -> list[list[Path]]:
        """The files of each micro-batch, of all inputs."""
        sources = sorted((self.place / "checkpoint" / "sources").iterdir(), key=lambda folder: int(folder.name))
        entries = [self._entries(folder) for folder in sources]
        found, before = [], [-1] * len(sources)
        for number in range(self.started + 1):
            written = (self.place / "checkpoint" / "offsets" / str(number)).read_text().splitlines()
            now = [json.loads(line)["logOffset"] if line != "-" else -1 for line in written[2:]]
            files = set[Path]()
            for own, first, last in zip(entries, before, now, strict=True):
                files.update(path for entry in range(first + 1, last + 1) for path in own[entry])
            found.append(sorted(files))
            before = now
        return found

    def _entries(self, source: Path) -> dict[int, set[Path]]:
        """The files of each entry in the log of an input."""
        found: dict[int, set[Path]] = {}
        for log in source.iterdir():
            if log.name.startswith("."):
                continue
            for line in log.read_text().splitlines()[1:]:
                known = json.loads(line)
                name = Path(known["path"])
                found.setdefault(known["batchId"], set()).add(self.place / name.parent.name / name.name)
        return found

    def batches(self) -> dict[int, Rows]:
        """What the sink has of each micro-batch."""
        return {int(folder.name): _rows(folder) for folder in (self.place / "out").iterdir()}

    def again(self) -> Iterator[tuple[int, Rows]]:
        """What the sink was given again."""
        for folder in (self.place / "again").iterdir():
            yield int(folder.name.partition("-")[0]), _rows(folder)

    def _last(self, log: str) -> int:
        folder = self.place / "checkpoint" / log
        try:
            return max((int(entry.name) for entry in folder.iterdir() if entry.name.isdigit()), default=-1)
        except FileNotFoundError:
            return -1


def _rows(folder: Path) -> Rows:
    return [row for file in sorted(folder.glob("*.parquet")) for row in pq.read_table(file).to_pylist()]
