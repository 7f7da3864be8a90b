"""What is shipped to executors unpickles anywhere, and says in one sentence when windrow is not there."""

from __future__ import annotations

import io
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow
from windrow._executor import shipping
from windrow._executor.batch import fold, pack

ROOT = Path(__file__).resolve().parents[3]

CALL = "import pickle, sys; sys.path.append(sys.argv[1]); list(pickle.load(open(sys.argv[2], 'rb'))(iter([])))"


def shipped(tmp_path: Path, version: str) -> list[str]:
    """A pickled task and a folder with what unpickles it: PySpark's cloudpickle, and nothing else of PySpark."""
    from pyspark import cloudpickle

    task = tmp_path / "task.pickle"
    task.write_bytes(cloudpickle.dumps(shipping.shipped(pack, "{}", b"", (), version=version)))
    package = tmp_path / "bare" / "pyspark"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "cloudpickle").symlink_to(Path(cloudpickle.__file__).parent)
    return [str(package.parent), str(task)]


def test_a_python_without_windrow_says_so_in_one_sentence(tmp_path: Path) -> None:
    arguments = shipped(tmp_path, "1.2.3")

    def last_line() -> str:
        ran = subprocess.run([sys.executable, "-ISc", CALL, *arguments], capture_output=True, text=True, check=False)
        return ran.stderr.strip().splitlines()[-1]

    last = last_line()
    assert last.startswith(f"RuntimeError: {sys.executable} on host ")
    assert "cannot import windrow 1.2.3 (No module named 'windrow'): install the wheel of windrow 1.2.3 there" in last
    assert {"PYSPARK_PYTHON", "spark.archives"} <= set(re.findall(r"[\w.]+", last))
    (Path(arguments[0]) / "windrow").mkdir()  # a folder that happens to have this name
    assert "has a folder named windrow, but not windrow 1.2.3" in last_line()


def test_another_version_says_which_both_are() -> None:
    task = shipping.shipped(pack, "{}", b"", (), version="0.0.0")
    with pytest.raises(
        RuntimeError, match=f"has windrow {windrow.__version__}, the driver has 0.0.0: install the wheel of"
    ) as raised:
        task(iter([]))
    assert sys.executable in str(raised.value)


def test_no_module_of_windrow_is_needed_to_unpickle(tmp_path: Path) -> None:
    from pyspark import cloudpickle

    _, task = shipped(tmp_path, "1.2.3")
    functions = (cloudpickle.dumps(windrow.reduce("x", max)),)
    step = cloudpickle.dumps(shipping.shipped(fold, "{}", b"", {}, functions, version="1.2.3"))
    for pickled in (Path(task).read_bytes(), step):
        named = {module for module, _ in _globals(pickled)}
        assert named
        assert not any(module.split(".")[0] == "windrow" for module in named)


def test_importing_windrow_loads_only_what_queries_need() -> None:
    code = (
        "import windrow as wr\nfrom sys import modules\n"
        "others = ('pyspark', 'pandas', 'windrow.plot', 'windrow.testing', 'windrow._inspection')\n"
        "print([name for name in modules if name.startswith(others)])\n"
        "print(wr.plot.__name__, wr.explain_record.__name__, 'windrow.plot' in modules, 'matplotlib' in modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\nwindrow.plot explain_record True False\n"


def _globals(pickled: bytes) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()

    class Reader(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> object:
            found.add((module, name))
            return super().find_class(module, name)

    Reader(io.BytesIO(pickled)).load()
    return found


def test_a_step_returns_what_may_be_null_as_it_declares_at_any_depth() -> None:
    def of(nullable: bool) -> pa.Schema:
        def field(name: str, kind: pa.DataType) -> pa.Field[Any]:
            return pa.field(name, kind, nullable=nullable)

        pair = pa.struct([field("start", pa.int64()), field("end", pa.int64())])
        map_of_fields: Any = pa.map_
        items = map_of_fields(pa.field("key", pa.string(), nullable=False), field("value", pair))
        kinds = {"key": pa.string(), "window": pair, "list": pa.list_(field("element", pair)), "map": items}
        return pa.schema([field(name, kind) for name, kind in kinds.items()])

    bounds = {"start": 1, "end": 2}
    row = {"key": "a", "window": bounds, "list": [bounds, bounds], "map": [("k", bounds)]}
    for held, declared in ((True, False), (False, True), (True, True)):
        for rows in ([], [row], [row] * 3):
            batch = pa.RecordBatch.from_pylist([row, *rows], of(held)).slice(1)
            task = shipping.returning(lambda batches: batches, of(declared).serialize().to_pybytes())
            (found,) = task(iter([batch]))
            found.validate(full=True)
            assert found.schema == of(declared)
            assert found.to_pylist() == batch.to_pylist() == rows


def test_a_field_without_a_value_keeps_its_nulls() -> None:
    declared = pa.schema([pa.field("key", pa.string(), nullable=False), pa.field("n", pa.int64())])
    batch = pa.RecordBatch.from_pydict({"key": ["a", "b"], "n": pa.array([None, 1], pa.int64())})
    (found,) = shipping.returning(lambda batches: batches, declared.serialize().to_pybytes())(iter([batch]))
    assert found.schema == declared
    assert found["n"].to_pylist() == [None, 1]
