"""How much memory this process may still take."""

from __future__ import annotations

import re
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_STATUS = Path("/proc/self/status")
_CGROUP = Path("/sys/fs/cgroup")


def free_memory() -> int | None:
    """Bytes that the machine has, its control group and the limit of this process allow; None where nothing is known.

    Swap counts as memory.
    """
    free = [bytes_free for bytes_free in (_of_machine(), _of_group(), _of_process()) if bytes_free is not None]
    return max(min(free), 0) if free else None


def _of_machine() -> int | None:
    found = dict(re.findall(r"^(\w+):\s+(\d+) kB", _text(_MEMINFO), re.MULTILINE))
    if "MemAvailable" not in found:
        return None
    return 1024 * (int(found["MemAvailable"]) + int(found.get("SwapFree", 0)))


def _of_group() -> int | None:
    most, held = _text(_CGROUP / "memory.max").strip(), _text(_CGROUP / "memory.current").strip()
    return int(most) - int(held) if most.isdecimal() and held.isdecimal() else None


def _of_process() -> int | None:
    try:
        import resource
    except ImportError:  # not a Unix
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    held = re.search(r"^VmSize:\s+(\d+) kB", _text(_STATUS), re.MULTILINE)
    return None if most == resource.RLIM_INFINITY or held is None else most - 1024 * int(held[1])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
