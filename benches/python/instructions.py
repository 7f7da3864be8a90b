"""Counts the instructions of thirteen workloads, and compares them with the recorded counts.

    python benches/python/instructions.py              exit 1 if a workload takes more than recorded
    python benches/python/instructions.py --record     records the counts of now
    python benches/python/instructions.py --repeats 5  counts so often, and prints the spread

`benches/instructions.rs` has twelve workloads of the core, and `from_file.py` reads a file by its path.
`benches/instructions.json` has the counts, the Rust that compiled them,
and the tolerance. Callgrind counts: other processes and the speed of the machine do not matter. A count is the
difference between a run with the work and one that only prepares it.

It needs Rust, valgrind, and a Python that has the package.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASELINE = ROOT / "benches" / "instructions.json"
TOLERANCE = 0.03
"""How much more than recorded a workload may take."""
PROFILES = ROOT / "target" / "callgrind"
FROM_FILE = ROOT / "benches" / "python" / "from_file.py"
ALWAYS_ALIKE = {
    # glibc chooses among its copies of memcpy and the like by the processor
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX2_Usable,-ERMS,-FSRM,-Prefer_No_VZEROUPPER",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}


def rust() -> str:
    """The version of the compiler."""
    said = subprocess.run(["rustc", "--version"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return said.split()[1]


def built() -> Path:
    """The program with the workloads, optimized."""
    target = ["--features", "bench", "--bench", "instructions"]
    build = ["cargo", "bench", "--locked", "--no-run", *target, "--message-format", "json"]
    done = subprocess.run(build, cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(done.returncode)
    messages = map(json.loads, done.stdout.splitlines())
    return next(Path(each["executable"]) for each in messages if each.get("executable"))


def workloads(program: Path) -> dict[str, list[str]]:
    """The commands of all workloads by name, after each has run once and asserted its answer."""
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    from_file = [sys.executable, str(FROM_FILE)]
    for times in ("1", "0"):
        subprocess.run([*from_file, times], check=True)
    core = {line.split()[0]: [str(program), line.split()[0]] for line in said.splitlines()}
    return core | {"sessions-from-file": from_file}


def collected(name: str, command: list[str], times: int) -> int:
    """The instructions of a whole run."""
    profile = PROFILES / f"{name}.{times}.out"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", *command, str(times)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=os.environ | ALWAYS_ALIKE)
    count = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or count is None:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return int(count[1])


def counted(commands: dict[str, list[str]]) -> dict[str, int]:
    """The instructions of each workload."""
    PROFILES.mkdir(parents=True, exist_ok=True)
    runs = [(name, commands[name], times) for name in commands for times in (1, 0)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = list(pool.map(lambda run: collected(*run), runs))
    return {name: work - idle for name, work, idle in zip(commands, counts[::2], counts[1::2], strict=True)}


def compared(counts: dict[str, int], recorded: dict[str, int], tolerance: float) -> bool:
    """Prints each workload next to its recorded count. Whether none takes more, and all are recorded."""
    print(f"{'instructions':<28}{'recorded':>14}{'now':>14}   change")
    passed = set(counts) == set(recorded)
    for name, count in counts.items():
        before = recorded.get(name)
        change = None if before is None else count / before - 1
        if change is None:
            verdict = "NOT RECORDED"
        elif change > tolerance:
            verdict, passed = f"MORE than {tolerance:.1%}: callgrind_annotate {PROFILES / f'{name}.1.out'}", False
        elif change < -tolerance:
            verdict = "less: record it (--record)"
        else:
            verdict = ""
        shown = "" if change is None else f"{change:+8.2%}"
        print(f"  {name:<26}{before or 0:>14,}{count:>14,} {shown}  {verdict}".rstrip())
    for name in recorded.keys() - counts.keys():
        print(f"  {name:<26}{recorded[name]:>14,}  IS NO WORKLOAD")
    return passed


def spread(commands: dict[str, list[str]], repeats: int) -> None:
    """Prints the smallest and the largest of several counts."""
    runs = [counted(commands) for _ in range(repeats)]
    for name in commands:
        counts = [run[name] for run in runs]
        least, most = min(counts), max(counts)
        print(f"  {name:<26}{least:>14,} to {most:>14,}, {(most - least) / least:.4%}")


def main() -> int:
    """Compares, records, or prints the spread."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="write the counts of now to benches/instructions.json")
    parser.add_argument(
        "--repeats", type=int, default=1, help="2 or more: count this many times and print only the spread"
    )
    args = parser.parse_args()
    compiler, machine = rust(), f"{platform.system()} {platform.machine()}"
    baseline = {"rust": compiler, "machine": machine, "tolerance": TOLERANCE, "instructions": {}}
    if not args.record and args.repeats == 1:
        baseline = json.loads(BASELINE.read_text())
        for kind, got, fix in (
            ("rust", compiler, f"rustup run {baseline['rust']} make bench-check"),
            ("machine", machine, "run it on such a machine"),
        ):
            if baseline[kind] != got:
                print(
                    f"bench-check: the counts are of {kind} {baseline[kind]}, and this is {got}, which compiles other "
                    f"instructions: {fix}, or record them anew: make bench-check RECORD=--record",
                    file=sys.stderr,
                )
                return 2
    commands = workloads(built())
    if args.repeats > 1:
        spread(commands, args.repeats)
        return 0
    counts = counted(commands)
    if args.record:
        BASELINE.write_text(json.dumps(baseline | {"instructions": counts}, indent=2) + "\n")
        print(BASELINE.read_text(), end="")
        return 0
    return 0 if compared(counts, baseline["instructions"], baseline["tolerance"]) else 1


if __name__ == "__main__":
    sys.exit(main())
