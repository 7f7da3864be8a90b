"""Delta and Iceberg tables written by their own libraries: what tasks read is what the library itself reads."""

from __future__ import annotations

import json
import pickle
import re
import struct
import sys
import tomllib
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pyiceberg
import pyroaring
import pytest
from pyiceberg.catalog import sql as catalog

import windrow as wr
from windrow._executor.scan.location import Location
from windrow._executor.scan.parquet_part import ParquetPart
from windrow._spark import table_scan
from windrow._spark.row_groups import in_order
from windrow._spark.scan import joined, read_columns

ROOT = Path(__file__).resolve().parents[3]
TIME = datetime(2026, 1, 1, 8, 30, tzinfo=UTC)


def plan(step: Any, values: list[Any], *query: Any) -> list[dict[str, Any]]:
    """Plans in this process, with a batch for each file."""
    batches = (pa.RecordBatch.from_arrays([pa.array([value])], names=["file"]) for value in values)
    return in_order([row for batch in step(batches, *query) for row in batch.to_pylist()])


def delta_parts(table: object) -> Any:
    return table_scan.delta_parts(table, plan)


def iceberg_parts(table_or_scan: object) -> Any:
    return table_scan.iceberg_parts(table_or_scan, plan)


def rows(planned: Any) -> list[dict[str, Any]]:
    """All rows, as tasks read them after their parts have travelled: each part alone, and those of a file together."""
    schema, parts = planned
    columns = read_columns(schema, schema.names)
    sent = pickle.loads(pickle.dumps([part for part, _ in parts]))
    alone, together = (
        ordered(pa.Table.from_batches([batch for part in task for batch in part.batches(columns)], columns))
        for task in (sent, joined(sent))
    )
    assert together == alone
    return alone


def ordered(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=lambda row: row["n"])


def events(first: int, count: int) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table(
        {
            "n": pa.array(numbers, pa.int64()),
            "user": [None if n % 5 == 0 else f"a b:{n % 3}" for n in numbers],
            "day": pa.array([None if n % 4 == 0 else date(2026, 1, 1 + n % 2) for n in numbers]),
            "ts": pa.array([TIME] * count, pa.timestamp("us", "UTC")),
        }
    )


def test_a_delta_table_with_partitions_deletes_and_versions(tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    deltalake.write_deltalake(path, events(0, 40), partition_by=["user", "day"])
    deltalake.write_deltalake(path, events(40, 40), mode="append")
    deltalake.DeltaTable(path).delete("n < 10")
    for version in (0, 1, 2):
        table = deltalake.DeltaTable(path, version=version)
        whole = pa.table(table.to_pyarrow_table()).select(["n", "user", "day", "ts"])
        assert rows(delta_parts(table)) == ordered(whole)
    assert len(rows(delta_parts(path))) == 70


def test_a_delta_table_with_column_mapping(tmp_path: Path) -> None:
    mapping = {"delta.columnMapping.mode": "name"}
    deltalake.write_deltalake(tmp_path, events(0, 20), configuration=mapping, partition_by=["day"])
    mapped = delta_parts(tmp_path)
    assert mapped[1][0][0].names["n"].startswith("col-")
    assert rows(mapped) == ordered(events(0, 20))


def vector(deleted: list[int]) -> dict[str, Any]:
    """A deletion vector within the log: the rows as a 64-bit roaring bitmap in Z85, by Delta's protocol."""
    data = struct.pack("<i", 1681511377) + pyroaring.BitMap64(deleted).serialize()
    size = len(data)
    data += bytes(-size % 4)
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    text = ""
    for place in range(0, len(data), 4):
        word = int.from_bytes(data[place : place + 4], "big")
        text += "".join(digits[word // 85**power % 85] for power in (4, 3, 2, 1, 0))
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": size, "cardinality": len(deleted)}


def delete_by_vector(path: Path, deleted: list[int]) -> None:
    """Version 1 of a table of one file, without some of its rows."""
    actions = (path / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    add = next(json.loads(line)["add"] for line in actions if '"add"' in line)
    remove = {"path": add["path"], "deletionTimestamp": 1, "dataChange": True}
    lines = [{"remove": remove}, {"add": add | {"deletionVector": vector(deleted)}}]
    (path / "_delta_log" / f"{1:020}.json").write_text("\n".join(map(json.dumps, lines)))


@pytest.mark.parametrize("length", [0, 9, 10, 11, 24, 25])
def test_a_deletion_vector_applies_across_row_groups_and_may_end_early(tmp_path: Path, length: int) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"col-1": range(25)}), path, row_group_size=10)
    keep = pa.array([n % 3 != 0 for n in range(length)], pa.bool_())
    location = Location.of(path.as_uri())
    part = ParquetPart(location, (0, 1, 2), None, ignore_case=False, is_strict=False, names={"n": "col-1"}, keep=keep)
    found = [n for batch in part.batches(pa.schema({"n": pa.int64()})) for n in batch["n"].to_pylist()]
    assert found == [n for n in range(25) if n >= length or n % 3 != 0]


def test_a_deletion_vector_hits_several_row_groups_that_several_tasks_read(tmp_path: Path) -> None:
    path = tmp_path / "table"
    properties = deltalake.WriterProperties(max_row_group_size=10)
    deltalake.write_deltalake(
        path, events(0, 35), writer_properties=properties, configuration={"delta.enableDeletionVectors": "true"}
    )
    deleted = [0, 9, 10, 11, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 34]
    delete_by_vector(path, deleted)
    planned = delta_parts(path)
    assert [part.row_groups for part, _ in planned[1]] == [(0,), (1,), (2,), (3,)]
    assert [row["n"] for row in rows(planned)] == [n for n in range(35) if n not in deleted]
    assert len(rows(delta_parts(deltalake.DeltaTable(path, version=0)))) == 35


def test_a_file_that_is_not_as_the_log_says_is_named(tmp_path: Path) -> None:
    path = tmp_path / "table"
    deltalake.write_deltalake(path, events(0, 20))
    planned = delta_parts(path)
    (file,) = path.glob("*.parquet")
    whole = file.read_bytes()
    pq.write_table(events(0, 3), file)
    with pytest.raises(RuntimeError, match=rf"{file.name}: the file was written after the scan was planned"):
        rows(planned)
    with pytest.raises(RuntimeError, match=rf"{file.name}: the file has \d+ bytes, but the log .* says {len(whole)}"):
        delta_parts(path)
    file.write_bytes(whole[:-9])
    with pytest.raises(RuntimeError, match=rf"{file.name}: .*[Pp]arquet"):
        delta_parts(path)
    file.unlink()
    for late in (lambda: rows(planned), lambda: delta_parts(path)):
        with pytest.raises(RuntimeError, match=rf"{file.name}: there is no such file"):
            late()


@pytest.fixture
def table(tmp_path: Path) -> Any:
    named = catalog.SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    named.create_namespace("n")
    made = named.create_table("n.t", schema=events(0, 8).schema)
    made.append(events(0, 40))
    made.append(events(40, 40))
    return made


def test_an_iceberg_table_with_deletes_snapshots_and_a_later_column(table: Any) -> None:
    first = table.metadata.snapshots[0].snapshot_id
    table.delete("n < 10")
    with table.update_schema() as update:
        update.rename_column("user", "who")
        update.add_column("later", pyiceberg.types.StringType())
    assert rows(iceberg_parts(table)) == ordered(table.scan().to_arrow())
    assert len(rows(iceberg_parts(table))) == 70
    later = table.scan(row_filter="later is null and n < 15", selected_fields=("n", "later"))
    assert rows(iceberg_parts(later)) == [{"n": n, "later": None} for n in range(10, 15)]
    assert len(rows(iceberg_parts(table.scan(snapshot_id=first)))) == 40
    some = table.scan(row_filter="n > 60", selected_fields=("n", "who"))
    assert rows(iceberg_parts(some)) == ordered(some.to_arrow())


def delete_by_position(monkeypatch: pytest.MonkeyPatch, place: Path, positions: list[int]) -> None:
    """Gives each data file that PyIceberg plans deletes by position, which it cannot write."""
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.table import DataScan

    plan_files = DataScan.plan_files
    content = {"content": DataFileContent.POSITION_DELETES, "file_format": FileFormat.PARQUET}

    def planned(scan: Any) -> Any:
        tasks = list(plan_files(scan))
        for number, task in enumerate(tasks):
            paths = [task.file.file_path, "another"] * len(positions)
            both = [position for each in positions for position in (each, 5)]
            pq.write_table(pa.table({"file_path": paths, "pos": pa.array(both)}), place / f"{number}.parquet")
            task.delete_files.add(
                DataFile.from_args(file_path=f"file://{place}/{number}.parquet", partition={}, **content)
            )
        return tasks

    monkeypatch.setattr(DataScan, "plan_files", planned)


@pytest.mark.parametrize("positions", [[0], [9, 10, 11], [*range(10, 20), 39], list(range(40))])
def test_deletes_by_position_hit_several_row_groups(
    table: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, positions: list[int]
) -> None:
    with table.transaction() as change:
        change.set_properties({"write.parquet.row-group-limit": "10"})
        change.overwrite(events(0, 40))
    old = table.metadata.snapshots[1].snapshot_id
    delete_by_position(monkeypatch, tmp_path, positions)
    for scan, first in ((table.scan(), 0), (table.scan(row_filter="n > 12 and user is not null"), 13)):
        found = rows(iceberg_parts(scan))
        assert found == ordered(scan.to_arrow())
        left = [n for n in range(first, 40) if n not in positions and (not first or n % 5)]
        assert [row["n"] for row in found] == left
    assert [part.row_groups for part, _ in iceberg_parts(table)[1]] == [(0,), (1,), (2,), (3,)]
    assert [part.row_groups for part, _ in iceberg_parts(table.scan(row_filter="n > 29"))[1]] == [(3,)]
    before = table.scan(snapshot_id=old)
    assert rows(iceberg_parts(before)) == ordered(before.to_arrow())
    assert len(rows(iceberg_parts(before))) == 80 - 2 * len(positions)


def test_deletes_by_equality_are_refused_by_name(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyiceberg.manifest import DataFileContent, ManifestFile

    read = ManifestFile.fetch_manifest_entry

    def with_deletes(manifest: Any, *arguments: Any, **options: Any) -> Any:
        entries = read(manifest, *arguments, **options)
        for entry in entries:
            entry.data_file._data[0] = DataFileContent.EQUALITY_DELETES
        return entries

    monkeypatch.setattr(ManifestFile, "fetch_manifest_entry", with_deletes)
    with pytest.raises(ValueError, match=r"table n/t of format version 2'; allowed: .*equality deletes.*spark\.read"):
        iceberg_parts(table)


@pytest.mark.parametrize("kind", [TypeError, NotImplementedError, pyiceberg.exceptions.ValidationError])
def test_a_feature_that_pyiceberg_does_not_plan_is_left_to_spark(
    table: Any, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    monkeypatch.setattr(pyiceberg.table.DataScan, "plan_files", Mock(side_effect=kind("not yet supported")))
    said = r"of format version 2'; allowed: .*\(not yet supported\); .*format\('iceberg'\)"
    with pytest.raises(ValueError, match=said):
        iceberg_parts(table)


def test_deletes_of_a_form_that_pyiceberg_does_not_read_name_the_file(
    table: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deletion vector in a Puffin file whose footer is compressed."""
    from pyiceberg.manifest import DataFile, FileFormat

    place = tmp_path / "vector.puffin"
    place.write_bytes(b"PFA1PFA1{}" + struct.pack("<ii", 2, 1) + b"PFA1")
    planned = iceberg_parts(table)
    for part, _ in planned[1]:
        part.task.delete_files.add(
            DataFile.from_args(file_path=f"file://{place}", partition={}, file_format=FileFormat.PUFFIN)
        )
    with pytest.raises(RuntimeError, match=r"\.parquet: .*compressed footer, which is not yet supported"):
        rows(planned)


def test_a_table_of_format_version_3_is_read_and_its_missing_manifest_named(table: Any, tmp_path: Path) -> None:
    metadata = json.loads(Path(table.metadata_location.removeprefix("file://")).read_text())
    metadata |= {"format-version": 3, "next-row-id": 0}
    later = {"id": 99, "name": "later", "type": "date", "required": False, "initial-default": "2026-01-02"}
    metadata["schemas"][0]["fields"].append(later)
    (tmp_path / "v9.metadata.json").write_text(json.dumps(metadata))
    third = pyiceberg.table.StaticTable.from_metadata(str(tmp_path / "v9.metadata.json"))
    found = rows(iceberg_parts(third))
    assert found == ordered(third.scan().to_arrow())
    assert {row["later"] for row in found} == {date(2026, 1, 2)}
    for manifest in Path(table.location().removeprefix("file://")).glob("metadata/*-m0.avro"):
        manifest.unlink()
    with pytest.raises(RuntimeError, match=r"the metadata of the Iceberg table .* of format version 3 .*-m0\.avro"):
        iceberg_parts(third)


def test_columns_of_types_that_spark_has_not_are_named(table: Any) -> None:
    uuid, time = pyiceberg.types.UUIDType(), pyiceberg.types.TimeType()
    times = pyiceberg.types.ListType(element_id=100, element=time, element_required=False)
    for kind in (uuid, time, times):
        with table.update_schema() as update:
            update.add_column("odd", kind)
        with pytest.raises(TypeError, match="table_or_scan: column 'odd' has type .*allowed: types that Spark has"):
            iceberg_parts(table)
        assert len(rows(iceberg_parts(table.scan(selected_fields=("n",))))) == 80
        with table.update_schema() as update:
            update.delete_column("odd")


def test_an_iceberg_file_that_changed_or_is_missing_is_named(table: Any) -> None:
    planned = iceberg_parts(table)
    file = Path(planned[1][0][0].file.removeprefix("file://"))
    file.write_bytes(file.read_bytes() + b"x")
    for late in (lambda: rows(planned), lambda: iceberg_parts(table)):
        with pytest.raises(RuntimeError, match=rf"{file.name}: the file has \d+ bytes, but the metadata .* says \d+"):
            late()
    file.unlink()
    for late in (lambda: rows(planned), lambda: iceberg_parts(table)):
        with pytest.raises(RuntimeError, match=rf"{file.name}: "):
            late()


def test_an_iceberg_file_of_another_format_is_refused(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyiceberg.manifest import DataFile, FileFormat

    monkeypatch.setattr(DataFile, "file_format", FileFormat.ORC)
    with pytest.raises(ValueError, match="table_or_scan: got .*allowed: a table whose data files are Parquet"):
        iceberg_parts(table)


@pytest.mark.parametrize("feature", ["typeWidening", "variantShredding", "typeWidening-preview", "somethingNew"])
def test_a_delta_table_with_a_feature_that_deltalake_lacks_is_left_to_spark(tmp_path: Path, feature: str) -> None:
    path = tmp_path / "table"
    deltalake.write_deltalake(str(path), events(0, 3))
    assert len(rows(delta_parts(str(path)))) == 3
    features = {"readerFeatures": [feature], "writerFeatures": [feature]}
    protocol = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}
    (path / "_delta_log" / f"{1:020}.json").write_text(json.dumps(protocol))
    with pytest.raises(ValueError, match=r"table: got .*[Ff]eature.*; for .* spark\.read\.format\('delta'\)"):
        delta_parts(str(path))


def test_wrong_arguments_are_named(tmp_path: Path, table: Any) -> None:
    with pytest.raises(ValueError, match="table: got .*allowed: the path of a Delta table"):
        delta_parts(tmp_path / "nothing")
    for parts, allowed in ((delta_parts, r"deltalake\.DeltaTable"), (iceberg_parts, r"pyiceberg\.table\.Table")):
        with pytest.raises(TypeError, match=f"table.*: got 5, an int; allowed: a {allowed}"):
            parts(5)
    wrong: dict[str, dict[str, Any]] = {
        "limit=3.*allowed: a scan without a limit": {"limit": 3},
        r"selected_fields=\('nn',\).*it has 'n'": {"selected_fields": ("nn",)},
        r"snapshot_id=5.*a snapshot of the table, which has \d+,": {"snapshot_id": 5},
        "row_filter=.*nn.*; allowed: what fits .*has 'n'": {"row_filter": "nn > 5"},
        "row_filter=.*five.*; allowed: what fits .*has 'n'": {"row_filter": "n > 'five'"},
    }
    for message, options in wrong.items():
        with pytest.raises(ValueError, match=f"table_or_scan: got .*{message}"):
            iceberg_parts(table.scan(**options))


MISSING = {
    "deltalake": (delta_parts, "scan_delta needs deltalake: pip install deltalake"),
    "pyiceberg.table": (
        iceberg_parts,
        "scan_iceberg needs pyiceberg: pip install 'pyiceberg[pyarrow]>=0.12,<0.13'",
    ),
}


@pytest.mark.parametrize("module", MISSING)
def test_a_missing_library_of_tables_is_named_as_pip_takes_it(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, message = MISSING[module]
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError) as raised:
        parts("x")
    assert str(raised.value) == message
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    asked = message.partition("pip install ")[2].strip("'")
    assert asked in [form for line in extras["delta"] + extras["iceberg"] for form in (line, re.split("[[>]", line)[0])]


def test_a_scan_names_what_takes_it_for_a_method_of_a_frame() -> None:
    scan = wr.Scan(("user",), 1, None)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match=r"'Scan' object has no attribute 'collect'; .*windrow\.group_by\(scan"):
        scan.collect()  # type: ignore[attr-defined]
    assert not hasattr(scan, "_repr_html_")
    assert pickle.loads(pickle.dumps(scan)) == scan
