"""Damages what windrow reads, and looks for panics, hangs and memory without bounds: `make fuzz`.

    fuzz.py --inputs 100000 --blind 1000000    tries that many inputs on each target
    fuzz.py --target pages                     tries one target

First libFuzzer changes bytes and watches the code: it keeps an input that runs new code. Then it changes the inputs
that it kept and watches nothing, which is 10 to 100 times as fast. `rust/fuzz` has the targets, and says what they
check. A target writes a new checksum, so that damaged bytes are read. Inputs stay in `target/fuzz`, and the next run
begins with them. Exits with 1 if a target fails or ran no input.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from argument import number, stop

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "fuzz"
TARGETS = re.findall(r'name: "(\w+)"', (ROOT / "rust" / "fuzz" / "mod.rs").read_text())
LONGEST = 10
"""Seconds for an input."""
MOST_MEMORY, MOST_ADDRESSES = 1024, 4 << 30
"""MiB that an input may use, and bytes that it may ask for."""
# Coverage as libFuzzer counts it, without a sanitizer: stable Rust has none.
FLAGS = (
    "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-trace-compares "
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table "
    "-Ccodegen-units=1"
)


class Run(NamedTuple):
    """What libFuzzer says of a run."""

    inputs: int
    seconds: float
    coverage: int
    new: int
    megabytes: int


def built(*, is_blind: bool) -> Path:
    """Builds the fuzzer. A blind one watches only its own few lines, since libFuzzer must watch some."""
    host = re.search(r"host: (\S+)", subprocess.check_output(["rustc", "-vV"], text=True))
    if host is None:
        raise stop("rustc does not name its host")
    # With a target, build scripts are built without the flags.
    command = ["cargo", "rustc", "--locked", "--release", "--quiet", "--package", "windrow-fuzz", "--target", host[1]]
    own, all_crates = (FLAGS.split(), "") if is_blind else ([], FLAGS)
    folder = FOLDER / ("blind" if is_blind else "build")
    environment = os.environ | {"RUSTFLAGS": all_crates, "CARGO_TARGET_DIR": str(folder)}
    if subprocess.run([*command, "--", *own], cwd=ROOT, env=environment, check=False).returncode:
        raise stop("the fuzzer does not build")
    return folder / host[1] / "release" / "fuzz"


def limit_memory() -> None:
    """Limits the addresses of this process."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))


def fuzzed(program: Path, target: str, inputs: int, *, is_blind: bool) -> Run | None:
    """Runs a target. Prints why it failed, and returns None, if it did."""
    corpus, log, faults = FOLDER / "inputs" / target, FOLDER / f"{target}.log", FOLDER / "faults"
    environment = os.environ | {"WINDROW_FUZZ": target}
    for folder in (corpus, faults):
        folder.mkdir(parents=True, exist_ok=True)
    limits = [f"-runs={inputs}", f"-timeout={LONGEST}", f"-rss_limit_mb={MOST_MEMORY}"]
    # A blind fuzzer keeps inputs that seem to run the same code. Entropy makes a fuzzer that watches slower.
    ways = ["-entropic=0", f"-keep_seed={int(is_blind)}", f"-artifact_prefix={faults}/{target}-"]
    command = [program, *limits, *ways, "-print_final_stats=1", corpus]
    begin = [program], environment | {"WINDROW_SEEDS": str(corpus)}
    with log.open("w") as output:
        to: dict[str, Any] = {"cwd": FOLDER, "stdout": output, "stderr": output}
        for each, own in begin, (command, environment):
            done = subprocess.run(each, check=False, env=own, preexec_fn=limit_memory, **to)
            if done.returncode:
                break
    text = log.read_text(errors="replace")
    if done.returncode:
        telling = re.compile(r"windrow:|==\d+== ERROR|memory allocation|artifact")
        said = [line for line in text.splitlines() if telling.match(line)]
        print(f"{target} failed; {log} says more", *said, sep="\n  ")
        print(f"  again: WINDROW_FUZZ={target} {program} FILE")
        return None

    def last(pattern: str) -> int:
        return int(re.findall(pattern, text)[-1])

    ran, new = last(r"number_of_executed_units: *(\d+)"), last(r"new_units_added: *(\d+)")
    return Run(ran, last(r"Done \d+ runs in (\d+) second"), last(r"cov: (\d+)"), new, last(r"peak_rss_mb: *(\d+)"))


def main() -> int:
    """Runs the targets one after the other, and prints what each did."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", default="100000")
    parser.add_argument("--blind", default="1000000")
    parser.add_argument("--target", default="all")
    options = parser.parse_args()
    inputs = {False: number("FUZZ_INPUTS", options.inputs, 1), True: number("FUZZ_BLIND", options.blind, 1)}
    if options.target not in ("all", *TARGETS):
        raise stop(f"FUZZ_TARGET: got {options.target!r}; allowed: {', '.join(TARGETS)} or all")
    programs = {is_blind: built(is_blind=is_blind) for is_blind in inputs}
    print("target               inputs   seconds   inputs/s   branches    new   MiB", flush=True)
    failed = False
    for target in TARGETS if options.target == "all" else [options.target]:
        for is_blind, program in programs.items():
            run = fuzzed(program, target, inputs[is_blind], is_blind=is_blind)
            failed |= run is None or not run.inputs
            if run is not None:
                speed = run.inputs / max(run.seconds, 1)
                found = f"{'':18}" if is_blind else f"{run.coverage:11,}{run.new:7,}"
                row = f"{run.inputs:12,}{run.seconds:10}{speed:11,.0f}{found}{run.megabytes:6}"
                print(f"{target + ', blind' * is_blind:15}{row}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
