"""What is checked of a wheel before it is published, on wheels that are made up."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[3] / "tools" / "wheel.py"
POINTS = "[console_scripts]\nwindrow=windrow._command.main:main\n"
LINUX = "pywindrow-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl"
MACHINE = "/home" + "/someone/.cargo/registry/src/arrow/lib.rs"


def checked(folder: Path, name: str, module: str, points: str = POINTS) -> tuple[int, str]:
    """Exit code and output of the tool, of a wheel with this module."""
    with zipfile.ZipFile(folder / name, "w") as wheel:
        wheel.writestr("windrow/_native.abi3.so", f"\x7fELF\0{module}\0")
        wheel.writestr("pywindrow-0.1.0.dist-info/entry_points.txt", points)
    ran = subprocess.run([sys.executable, TOOL, folder / name], capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout


def test_make_wheel_installs_only_what_it_builds_with() -> None:
    command = ["make", "--dry-run", "--always-make", "wheel"]
    printed = subprocess.check_output(command, cwd=TOOL.parents[1], text=True)
    assert "maturin build" in printed
    installs = re.findall(r"pip install (.*)", printed)
    assert [[word for word in line.split() if not word.startswith("-")] for line in installs] in (
        [["constraints.txt", "maturin", "ziglang"]],
        [["constraints.txt", "maturin"]],
    )
    assert "-c constraints.txt" in installs[0]
    assert "/.venv" not in printed
    assert "toolchain.sh check" not in printed  # it asks for Java


@pytest.mark.parametrize(
    ("name", "module"),
    [
        (LINUX, "GLIBC_2.17\0GLIBC_2.28\0unwrap.cargo/registry/src/arrow/lib.rs"),
        (LINUX.replace("2_28", "2_17"), "GLIBC_2.5"),
        ("pywindrow-0.1.0-cp311-abi3-macosx_11_0_arm64.whl", "rust/lib.rs"),
    ],
)
def test_a_wheel_that_may_be_published(name: str, module: str, tmp_path: Path) -> None:
    assert checked(tmp_path, name, module) == (0, f"wheel: no breach in {name}\n")


OWN = "a path of the machine that built it: "
OF_MODULE = f"{OWN}windrow/_native.abi3.so: /someone/.cargo/registry/src/arrow/lib.rs"
BUILT = "path+file:///build/pywindrow#windrow"
OLDER = "its tag is not manylinux_2_28 or older"


@pytest.mark.parametrize(
    ("name", "module", "points", "message"),
    [
        (LINUX, "GLIBC_2.17", f"{POINTS}{BUILT}", f"{OWN}pywindrow-0.1.0.dist-info/entry_points.txt: {BUILT[5:]}"),
        (LINUX, "GLIBC_2.29", POINTS, "the module asks for glibc 2.29, newer than 2.28"),
        (LINUX.replace("2_28", "2_34"), "GLIBC_2.17", POINTS, OLDER),
        (LINUX.replace("manylinux_2_28", "linux"), "GLIBC_2.17", POINTS, OLDER),
        (LINUX, f"\0{MACHINE}\0", POINTS, OF_MODULE),
        (LINUX, f"unwrap{MACHINE}", POINTS, OF_MODULE),
        (LINUX, "GLIBC_2.17", "", "the command windrow is not among its entry points"),
    ],
)
def test_a_wheel_that_may_not(name: str, module: str, points: str, message: str, tmp_path: Path) -> None:
    code, printed = checked(tmp_path, name, module, points)
    assert code == 1
    assert printed.splitlines() == [f"{name}: {message}"]
