"""Parquet files by their path: the answers of `read_table`, in its order, and one error for files that are not right.

```text
days/day=2026-05-04/a.parquet    ann  9:00  9:04    bob  9:07
days/day=2026-05-05/b.parquet    ann  9:00  9:04    bob  9:07
```
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

import windrow as wr

TABLE = pa.table(
    {
        "user": ["ann", "ann", "bob"],
        "ts": [datetime(2026, 5, 4, 9, minute) for minute in (0, 4, 7)],
        "amount": [1, 2, 3],
        "a.b": [5, None, 6],
        "page": pa.array(["home", "cart", None]).dictionary_encode(),
    }
)
GAP = wr.SessionWindows.with_gap("5 minutes")
AGGREGATES: Any = {
    "n": wr.count(),
    "spend": wr.sum("amount"),
    "pages": wr.collect_list("page"),
    "page": wr.last("page"),
    "dotted": wr.first("a.b"),
}


def windowed(data: Any, *keys: str) -> Any:
    return wr.group_by(data, *(keys or ("user",)), time="ts").windowed_by(GAP)


def sessions(data: Any) -> Any:
    return windowed(data).agg(**AGGREGATES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two days in folders of their own, and a file that pyarrow does not read as data."""
    for day, name in (("2026-05-04", "b"), ("2026-05-05", "a")):
        place = tmp_path / "days" / f"day={day}"
        place.mkdir(parents=True)
        pq.write_table(TABLE, place / f"{name}.parquet", row_group_size=2)
    (tmp_path / "days" / "_SUCCESS").touch()
    return tmp_path / "days"


def equal(data: Any, table: pa.Table, *keys: str) -> None:
    """Every kind of query gives the same over both."""
    one, other = windowed(data, *keys), windowed(table, *keys)
    assert one.agg(**AGGREGATES).equals(other.agg(**AGGREGATES), check_metadata=True)
    assert one.with_columns(n=wr.count()).equals(other.with_columns(n=wr.count()))
    assert one.to_reader(**AGGREGATES).read_all().equals(other.to_reader(**AGGREGATES).read_all())
    runs = [each.advance(None, to="2026-05-04 09:10", **AGGREGATES).rows for each in (one, other)]
    assert runs[0].equals(runs[1])


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_gives_what_its_table_gives(kind: Callable[[Path], Any], tmp_path: Path) -> None:
    path = tmp_path / "clicks [1].parquet"
    frame = TABLE.to_pandas().set_index("amount")
    for table in (TABLE, TABLE[:1], TABLE[:0], pa.Table.from_pandas(frame)):
        pq.write_table(table, path)
        equal(kind(path), pq.read_table(path))


def test_a_folder_and_a_pattern_give_the_rows_of_read_table_with_the_values_of_folders(folder: Path) -> None:
    equal(folder, pq.read_table(folder), "user", "day")
    files = sorted(map(str, folder.rglob("*.parquet")))
    for pattern in (f"{folder}/*/*.parquet", f"{folder}/**/*.parquet", f"{folder}/day=2026-05-0[45]/?.parquet"):
        equal(pattern, pq.read_table(files), "user", "day")
    for path in (folder / "day=2026-05-04", f"{folder}/day=2026-05-04/*.parquet"):
        assert sessions(path).equals(sessions(TABLE))
        with pytest.raises(ValueError, match="keys: got 'day'"):
            windowed(path, "day")


def test_a_relative_path_is_that_of_the_call(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    query = windowed("day=2026-05-04/b.parquet")
    monkeypatch.chdir("/")
    assert query.count().equals(windowed(TABLE).count())


def test_expressions_cogroups_and_open_windows_take_paths(tmp_path: Path) -> None:
    path = tmp_path / "clicks.parquet"
    pq.write_table(TABLE, path)
    upper = pc.utf8_upper(pc.field("user"))
    counted = [wr.group_by(data, upper, time="ts").windowed_by(GAP).count() for data in (path, TABLE)]
    assert counted[0].equals(counted[1])
    of_path, of_table = (wr.group_by(data, "user", time="ts") for data in (path, TABLE))
    for inputs in ({"a": of_path, "b": of_table}, {"a": of_table, "b": of_path}, {"a": of_path, "b": of_path}):
        both = wr.cogroup(a=of_table, b=of_table).windowed_by(GAP).count()
        assert wr.cogroup(**inputs).windowed_by(GAP).count().equals(both)
    first = windowed(path).advance(None, to="2026-05-04 09:08", n=wr.count())
    pq.write_table(first.still_open, tmp_path / "open.parquet")
    of_table, of_file = (
        windowed(TABLE[:0]).advance(opened, to="2026-05-05", n=wr.count()).closed
        for opened in (first.still_open, tmp_path / "open.parquet")
    )
    assert of_table.equals(of_file)
    assert of_table.num_rows == 2


def test_a_query_reads_only_its_columns(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet")
    pq.write_table(TABLE.set_column(2, "amount", pa.array(["x"] * 3)), tmp_path / "b.parquet")
    pq.write_table(TABLE.drop_columns(["page"]).append_column("new", pa.array([1] * 3)), tmp_path / "c.parquet")
    assert windowed(tmp_path).agg(n=wr.count())["n"].to_pylist() == [6, 3]
    for query, said in (
        (lambda: windowed(tmp_path).agg(n=wr.sum("amount")), r"b\.parquet' has column 'amount' in string, other files"),
        (lambda: windowed(tmp_path, "page"), r"c\.parquet' has no column 'page'"),
        (lambda: windowed(tmp_path).with_columns(), r"b\.parquet' has column 'amount' in string"),
        (lambda: windowed(tmp_path, "new"), "keys: got 'new'; allowed: a column of the data, which has 'user', 'ts'"),
    ):
        with pytest.raises(ValueError, match=said):
            query()


def test_a_time_of_another_type_names_an_expression_that_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "clicks.parquet"
    seconds = TABLE["ts"].cast(pa.timestamp("s")).cast(pa.int64())
    nans = pa.array([*map(float, seconds.to_pylist()[:2]), float("nan")])
    texts = (TABLE["ts"].cast(pa.string()), pc.strftime(TABLE["ts"], "%b %d %Y %H:%M"))
    for values in (seconds, *texts, seconds.cast(pa.float64()), nans):
        pq.write_table(TABLE.append_column("at", values), path)
        with pytest.raises(TypeError, match="^time: column 'at' has type .*; allowed: a timestamp") as raised:
            wr.group_by(path, "user", time="at")
        cast = str(raised.value).partition("without a zone: ")[2].partition(" if it counts ")[0]
        with_cast = wr.group_by(path, "user", time=eval(cast, {"pyarrow": pyarrow})).windowed_by(GAP)
        counted = with_cast.count()
        assert counted["count"].to_pylist() == ([2] if values is nans else [2, 1])
        assert wr.counters(counted)["null_times"] == (values is nans)


@pytest.mark.parametrize("how", ["cut", "without a byte", "text"])
@pytest.mark.parametrize("place", ["day=2026-05-04/b.parquet", "day=2026-05-05/a.parquet"])
def test_a_file_that_is_no_parquet_is_named_at_the_call(folder: Path, place: str, how: str) -> None:
    whole = (folder / place).read_bytes()
    damaged = {"cut": whole[: len(whole) // 2], "without a byte": b"", "text": b"user,ts\nann,9:00\n"}
    (folder / place).write_bytes(damaged[how])
    for path in (folder / place, folder, f"{folder}/*/*.parquet"):
        with pytest.raises(ValueError, match=rf"^data: got '.*{re.escape(place)}'|Could not .* '.*{re.escape(place)}'"):
            windowed(path)


@pytest.mark.parametrize("name", ["clicks.csv", "CLICKS.CSV", "clicks.jsonl", "clicks.arrow", "clicks.feather"])
def test_a_file_of_another_format_is_named_with_the_call_that_reads_it(name: str, tmp_path: Path) -> None:
    rows = TABLE.select(["user", "ts"])
    if name.lower().endswith("csv"):
        csv.write_csv(rows, tmp_path / name)
    elif name.endswith("jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(row, default=str) + "\n" for row in rows.to_pylist()))
    else:
        feather.write_feather(rows, tmp_path / name)
    with pytest.raises(
        ValueError, match=f"^data: got .*{name}'; allowed: the path of a Parquet file, .*; or "
    ) as raised:
        windowed(tmp_path / name)
    call = str(raised.value).partition("; or ")[2].partition(" (")[0]
    assert windowed(eval(call, {"pyarrow": pyarrow})).count().num_rows == 2


def test_an_open_file_is_refused_with_the_call_that_reads_it(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "clicks.parquet")
    with (tmp_path / "clicks.parquet").open("rb") as data:
        with pytest.raises(TypeError, match=r"^data: got .*; allowed: pyarrow.parquet.read_table\(data\)"):
            windowed(data)
        assert windowed(pq.read_table(data)).count().num_rows == 2


@pytest.mark.parametrize("name", ["a.parquet", "b.parquet"])
def test_a_damaged_row_group_fails_the_query_and_names_the_file(tmp_path: Path, name: str) -> None:
    count = 300_000
    table = pa.table({"user": [str(user) for user in range(count)], "ts": pa.array([0] * count, pa.timestamp("us"))})
    for each in ("a.parquet", "b.parquet"):
        pq.write_table(table, tmp_path / each, row_group_size=50_000, compression="none", use_dictionary=False)
    content = bytearray((tmp_path / name).read_bytes())
    content[len(content) // 2 : len(content) // 2 + 200_000] = b"\xff" * 200_000
    (tmp_path / name).write_bytes(content)
    query = windowed(tmp_path)
    for run in (query.count, query.with_columns, lambda: query.to_reader(n=wr.count()).read_all()):
        with pytest.raises(RuntimeError, match=rf"^data: '.*{name}' cannot be read \("):
            run()


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("none.parquet", "there is no such file or folder"),
        ("", "there is no such file or folder"),
        ("none/*.parquet", "no file matches this pattern"),
        ("s3://shop/clicks.parquet", r"or pyarrow.dataset.dataset\('s3://shop/clicks.parquet'\)"),
        ("s3a://shop/my clicks.parquet", r"or pyarrow.dataset.dataset\('s3://shop/my%20clicks.parquet'\)"),
        ("file:///none/my clicks.parquet", "there is no such file or folder"),
        ("dbfs:/shop/clicks", "pyarrow reads no 'dbfs', so download the files first"),
        ("https://shop/clicks.parquet", "pyarrow reads no 'https', so download the files first"),
    ],
)
def test_a_path_without_files_is_named_at_the_call(path: str, says: str) -> None:
    with pytest.raises(ValueError, match=rf"^data: got '{re.escape(path)}'; allowed: the path of .*{says}"):
        windowed(path)
    with pytest.raises(ValueError, match=rf"^open: got '{re.escape(path)}'; allowed: the path of "):
        windowed(TABLE).advance(path, to="2026-05-05", n=wr.count())


def test_the_path_of_an_address_of_a_file_is_named_and_works(tmp_path: Path) -> None:
    file = tmp_path / "a b%20ü#c" / "my clicks.parquet"
    file.parent.mkdir()
    pq.write_table(TABLE, file)
    for address in (file.as_uri(), f"file://{file}", f"file:{file}", f"file://localhost{file}", file.parent.as_uri()):
        with pytest.raises(ValueError, match="^data: got 'file:.*, on this machine: '/") as raised:
            windowed(address)
        path = ast.literal_eval(str(raised.value).partition("on this machine: ")[2])
        assert windowed(path).count().equals(windowed(TABLE).count())


def test_an_address_with_blanks_becomes_one_that_pyarrow_reads() -> None:
    for name in ("my clicks.parquet", "my%20clicks.parquet", "ü#c/my clicks.parquet"):
        with pytest.raises(ValueError, match="^data: got 'gs://shop/") as raised:
            windowed(f"gs://shop/{name}")
        address = re.search(r"pyarrow\.dataset\.dataset\('([^']*)'\)", str(raised.value))
        assert address is not None
        assert pyarrow.fs.FileSystem.from_uri(address[1])[1] == f"shop/{name.replace('%20', ' ')}"


def test_a_folder_without_files_is_named_at_the_call(tmp_path: Path) -> None:
    said = rf"^data: got '{re.escape(str(tmp_path))}'; .*; the folder has no files whose names begin"
    with pytest.raises(ValueError, match=said):
        windowed(tmp_path)
    with pytest.raises(ValueError, match="^schema: got 'user STRING'; allowed: None for data in this process"):
        wr.group_by(tmp_path, "user", time="ts", schema="user STRING")


def test_a_pattern_reads_no_file_that_its_folder_does_not_read(folder: Path) -> None:
    (folder / "_temporary").mkdir()
    for hidden in ("_temporary/c.parquet", "day=2026-05-04/.c.parquet", "day=2026-05-05/_c.parquet"):
        pq.write_table(TABLE, folder / hidden)
    (folder / "day=2026-05-04" / "_SUCCESS").touch()
    expected = windowed(pq.read_table(folder)).count()
    for pattern in ("**/*", "*/*.parquet", "*/*"):
        assert windowed(f"{folder}/{pattern}").count().equals(expected)
    with pytest.raises(ValueError, match=r"no file matches this pattern, only folders do; add /\*\.parquet$"):
        windowed(f"{folder}/day=*")


def test_nulls_of_one_file_are_nulls_where_another_file_declares_none(tmp_path: Path) -> None:
    strict = TABLE.schema.set(0, pa.field("user", pa.string(), nullable=False))
    pq.write_table(TABLE.cast(strict), tmp_path / "a.parquet")
    without = TABLE.set_column(0, "user", pa.array([None, "ann", "bob"]))
    pq.write_table(without, tmp_path / "b.parquet")
    found, expected = windowed(tmp_path).count(), windowed(pa.concat_tables([TABLE, without])).count()
    assert found.to_pylist() == expected.to_pylist()
    assert wr.counters(found) == wr.counters(expected)


def test_a_column_of_folders_is_no_column_of_their_files(folder: Path) -> None:
    file = folder / "day=2026-05-05" / "a.parquet"
    pq.write_table(TABLE.append_column("day", pa.array(["x"] * 3)), file)
    allowed = "allowed: folders whose values are no columns of their files; this file has a column 'day' too$"
    with pytest.raises(ValueError, match=rf"^data: got '{re.escape(str(file))}'; {allowed}"):
        windowed(folder)


def test_a_query_that_fails_does_not_make_the_next_one_fail(tmp_path: Path) -> None:
    path = tmp_path / "clicks.parquet"
    huge = pa.table({**{name: TABLE[name] for name in ("user", "ts")}, "amount": [2**62] * 3, "page": ["x" * 400] * 3})
    pq.write_table(huge, path, compression="none", use_dictionary=False, write_statistics=False)
    start = pq.read_metadata(path).row_group(0).column(3).data_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + 40] = b"\xff" * 40
    path.write_bytes(content)
    query = windowed(path)
    with pytest.raises(RuntimeError, match="cannot be read"):
        query.agg(page=wr.last("page"))
    with pytest.raises(OverflowError):
        query.agg(spend=wr.sum("amount"))


def test_a_file_that_changed_after_the_call_fails_each_query(folder: Path) -> None:
    query = windowed(folder)
    assert query.count().equals(query.count())
    file = folder / "day=2026-05-04" / "b.parquet"
    other = folder / "_new"
    pq.write_table(TABLE, other, row_group_size=2)
    os.replace(other, file)
    with pytest.raises(RuntimeError, match=rf"^data: '{re.escape(str(file))}' has changed since its columns were read"):
        query.count()
    file.unlink()
    with pytest.raises(RuntimeError, match=rf"^data: '{re.escape(str(file))}' cannot be read any more \(No such"):
        query.with_columns()


@pytest.mark.parametrize("change", ["written", "removed"])
def test_a_file_that_changes_while_it_is_read_gives_no_result(tmp_path: Path, change: str) -> None:
    path = tmp_path / "clicks.parquet"
    table = pa.concat_tables([TABLE] * 200_000)
    pq.write_table(table, path)

    def on_progress(step: str, done: int, total: int | None) -> None:
        if change == "removed":
            path.unlink(missing_ok=True)
        elif path.stat().st_size != 7:
            path.write_bytes(b"changed")

    with pytest.raises(RuntimeError, match=rf"^data: '{re.escape(str(path))}' (has changed since|cannot be read any)"):
        windowed(path).progress(on_progress).count()
