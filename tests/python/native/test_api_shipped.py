"""What is shipped to executors unpickles anywhere, and says in one sentence when windrow is not there."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

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
    ran = subprocess.run([sys.executable, "-ISc", CALL, *arguments], capture_output=True, text=True, check=False)
    last = ran.stderr.strip().splitlines()[-1]
    assert last.startswith(f"RuntimeError: {sys.executable} on host "), ran.stderr
    assert (
        "cannot import windrow 1.2.3 (No module named 'windrow'): install the wheel of windrow 1.2.3 there, or" in last
    )
    assert "PYSPARK_PYTHON" in last
    assert "spark.archives" in last


def test_a_folder_that_happens_to_be_called_windrow_is_no_windrow(tmp_path: Path) -> None:
    arguments = shipped(tmp_path, "1.2.3")
    (Path(arguments[0]) / "windrow").mkdir()
    ran = subprocess.run([sys.executable, "-ISc", CALL, *arguments], capture_output=True, text=True, check=False)
    assert "has a folder named windrow, but not windrow 1.2.3" in ran.stderr.splitlines()[-1]


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
        "import sys, windrow as wr\n"
        "others = ('pyspark', 'pandas', 'windrow.plot', 'windrow.testing', 'windrow._inspection')\n"
        "print([name for name in sys.modules if name.startswith(others)])\n"
        "print(wr.plot.__name__, wr.explain_record.__name__, 'windrow.plot' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\nwindrow.plot explain_record True\n"


def _globals(pickled: bytes) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()

    class Reader(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> object:
            found.add((module, name))
            return super().find_class(module, name)

    import io

    Reader(io.BytesIO(pickled)).load()
    return found
