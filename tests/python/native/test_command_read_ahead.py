"""A thread of Arrow's reads files ahead: the process may end meanwhile, and progress counts the bytes read."""

from __future__ import annotations

import ast
import gzip
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import windrow as wr
from windrow._command.csv_rows import TextFormat
from windrow._command.file import File
from windrow._command.files import Files
from windrow._command.progress import Bar
from windrow._command.time_column import TimeColumn

PROCESSES = 2
ROWS = 100_000
NOTE = "x" * 400
"""Makes the file of CSV much longer than Arrow reads ahead."""

READ_ONE_BATCH = f"""
import sys
from {Files.__module__} import File, Files, TextFormat, TimeColumn
from {Bar.__module__} import Bar
source = Files([File.of("FILE", sys.argv[1])], TextFormat())
columns = source.columns(TimeColumn("--time", ("ts",)))
columns.of("--key", "user", "value")
columns.of("--time", "ts", "time")
reader = source.reader(columns, Bar())
reader.read_next_batch()
"""


class ByteCount(Bar):
    """Adds up what a bar shows."""

    def __init__(self) -> None:
        self.steps: list[float] = []

    def add(self, count: float) -> None:
        self.steps.append(count)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows in files of each format."""
    folder = tmp_path_factory.mktemp("long")
    rows = "".join(f"user {number % 1000},2026-05-04 09:00:00,{NOTE}\n" for number in range(ROWS))
    text = f"user,ts,note\n{rows}".encode()
    (folder / "rows.csv").write_bytes(text)
    (folder / "rows.csv.gz").write_bytes(gzip.compress(text, compresslevel=1))
    (folder / "rows.txt").write_bytes(text.replace(b" ", b"_").replace(b"_09", b"T09").replace(b",", b" "))
    objects = (f'{{"user": "user {number % 1000}", "ts": "2026-05-04 09:00:00"}}\n' for number in range(ROWS))
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress("".join(objects).encode(), compresslevel=1))
    pq.write_table(pa.csv.read_csv(folder / "rows.csv"), folder / "rows.parquet", row_group_size=ROWS // 8)
    return folder


def reader_of(path: Path, bar: Bar) -> pa.RecordBatchReader:
    source = Files([File.of("FILE", str(path))], TextFormat())
    columns = source.columns(TimeColumn("--time", ("ts",)))
    columns.of("--key", "user", "value")
    columns.of("--time", "ts", "time")
    return source.reader(columns, bar)


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz"])
def test_a_process_ends_while_arrow_reads_ahead(name: str, folder: Path) -> None:
    arguments = [sys.executable, "-c", READ_ONE_BATCH, str(folder / name)]
    ends = [subprocess.run(arguments, capture_output=True, timeout=60, check=False) for _ in range(PROCESSES)]
    assert [(end.returncode, end.stderr) for end in ends] == [(0, b"")] * PROCESSES


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows.txt", "rows.jsonl.gz", "rows.parquet"])
def test_progress_is_in_bytes_of_the_file(name: str, folder: Path) -> None:
    bar = ByteCount()
    table = reader_of(folder / name, bar).read_all()
    assert table.num_rows == ROWS
    assert sum(bar.steps) == pytest.approx((folder / name).stat().st_size)
    assert len([step for step in bar.steps if step]) > 1


@pytest.mark.parametrize("name", ["gone.csv", "gone.csv.gz", "gone.parquet"])
def test_a_file_that_goes_away_is_an_error_of_the_system(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=f"{name}'$") as raised:
        reader_of(tmp_path / name, Bar())
    assert raised.value.filename == str(tmp_path / name)


def test_the_package_opens_no_file_of_pythons() -> None:
    package = Path(wr.__file__).parent
    modules = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(package.rglob("*.py"))}
    assert len(modules) > 60
    calls = [
        f"{path.relative_to(package)}:{node.lineno}"
        for path, tree in modules.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open"
    ]
    assert calls == [], "a thread of Arrow's would call Python: pyarrow.OSFile"
