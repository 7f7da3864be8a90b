"""The commands of README and docs/install.md install windrow into a new environment, where README's example runs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ..test_docs import examples, rows

pytestmark = pytest.mark.soak

ROOT = Path(__file__).resolve().parents[3]
OF_THIS_RUN = ("MAKE", "MFLAGS", "PYO3_", "PYSPARK_", "PYTHON", "RUSTFLAGS", "SPARK_", "VIRTUAL_ENV", "WINDROW_")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(OF_THIS_RUN)}


def run(command: list[str], folder: Path, active: Path | None = None) -> str:
    """What a command prints, without the settings of this test run, perhaps in an active environment."""
    own = {} if active is None else {"PATH": f"{active}{os.pathsep}{ENVIRONMENT['PATH']}"}
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT | own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def commands(page: str) -> list[list[str]]:
    """The commands in the blocks of shell of a page."""
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the tree, in another folder."""
    place = tmp_path_factory.mktemp("clone")
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(lambda name: name and (ROOT / name).is_file(), names):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes((ROOT / name).read_bytes())
        (place / name).chmod((ROOT / name).stat().st_mode)
    return place


@pytest.fixture(scope="module")
def wheel(clone: Path) -> Path:
    """The wheel that `make wheel` builds in the clone, perhaps beside that of `pip install .`."""
    wheels = clone / "target" / "wheels"
    before = set(wheels.glob("*"))
    run(["make", "wheel"], clone)
    (built,) = set(wheels.glob("*")) - before
    return built


def environment(folder: Path) -> Path:
    """The commands of a new environment."""
    run([sys.executable, "-m", "venv", str(folder / "environment")], folder)
    return folder / "environment" / "bin"


def check_example(commands: Path, folder: Path) -> None:
    """README's example prints what README says, by the windrow of this environment."""
    (example,) = examples(ROOT / "README.md")
    assert example.prints is not None
    code = f"{example.code}\nimport sys\nprint(wr.__file__.startswith(sys.prefix))"
    *printed, is_own = run([str(commands / "python"), "-c", code], folder, active=commands).splitlines()
    assert rows("\n".join(printed)) == rows(example.prints)
    assert is_own == "True"


def test_pip_installs_a_clone_and_the_example_runs(clone: Path, tmp_path: Path) -> None:
    (install,) = (command for command in commands("README.md") if command[-1] == ".[spark]")
    place = environment(tmp_path)
    run([str(place / install[0]), *install[1:]], clone)
    check_example(place, tmp_path)
    assert "Name: pywindrow" in run([str(place / "pip"), "show", "pywindrow"], tmp_path)


def test_the_wheel_installs_and_replaces_an_older_distribution(clone: Path, wheel: Path, tmp_path: Path) -> None:
    (install,) = (command for command in commands("docs/install.md") if command[-1].endswith(".whl[spark]"))
    assert Path(install[-1]).name.startswith(wheel.name.partition("manylinux")[0])
    place = environment(tmp_path)
    pip = [str(place / "pip"), "install"]
    run([*pip, f"{wheel}[spark]"], clone)
    check_example(place, tmp_path)
    assert run([str(place / "windrow"), "--version"], tmp_path).startswith("windrow ")
    # the wheel as it was before, under its old name
    older = tmp_path / wheel.name.replace("pywindrow", "windrow")
    with zipfile.ZipFile(wheel) as new, zipfile.ZipFile(older, "w") as old:
        for name in new.namelist():
            content = new.read(name)
            if ".dist-info/" in name:
                content = content.replace(b"pywindrow", b"windrow")
            old.writestr(name.replace("pywindrow", "windrow"), content)
    run([*pip, "--no-deps", str(older)], tmp_path)  # beside the new one
    run([str(place / "pip"), "uninstall", "--yes", "windrow"], tmp_path)
    with pytest.raises(AssertionError, match="No module named 'windrow'|has no attribute"):
        run([str(place / "python"), "-c", "import windrow; windrow.group_by"], tmp_path)
    run([str(place / "pip"), "uninstall", "--yes", "windrow", "pywindrow"], tmp_path)
    run([*pip, "--no-deps", str(older)], tmp_path)  # what install.md says: the old one goes first
    run([str(place / "pip"), "uninstall", "--yes", "windrow"], tmp_path)
    run([*pip, "--no-deps", str(wheel)], tmp_path)
    check_example(place, tmp_path)
