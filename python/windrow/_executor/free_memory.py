"""How much more memory this process may use."""

from __future__ import annotations

import re
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_STATUS = Path("/proc/self/status")
_CGROUP = Path("/sys/fs/cgroup")


def free_memory() -> int | None:
    """Free bytes: the least that the machine, the control group and the process limit allow. None if all are unknown.

    Swap counts as memory.
    """
    free = [bytes_free for bytes_free in (_of_machine(), _of_group(), _of_process()) if bytes_free is not None]
    return max(min(free), 0) if free else None


def _of_machine() -> int | None:
    sizes = dict(re.findall(r"^(\w+):\s+(\d+) kB", _text(_MEMINFO), re.MULTILINE))
    if "MemAvailable" not in sizes:
        return None
    return 1024 * (int(sizes["MemAvailable"]) + int(sizes.get("SwapFree", 0)))


def _of_group() -> int | None:
    most, used = _text(_CGROUP / "memory.max").strip(), _text(_CGROUP / "memory.current").strip()
    return int(most) - int(used) if most.isdecimal() and used.isdecimal() else None


def _of_process() -> int | None:
    try:
        import resource
    except ImportError:  # not a Unix
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    match = re.search(r"^VmSize:\s+(\d+) kB", _text(_STATUS), re.MULTILINE)
    return None if most == resource.RLIM_INFINITY or match is None else most - 1024 * int(match[1])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
