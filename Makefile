# Everything runs in .venv, which the first target that needs it makes: make help

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
.PHONY: help docs pictures demo demo-kafka fuzz simulate test test-rust test-python test-spark test-kafka test-slow test-versions check bench bench-check bench-grow bench-stream bench-kafka bench-nexmark mutants mutants-python soak clean toolchain package wheel

VENV := $(CURDIR)/.venv
PY := $(VENV)/bin/python

# One target folder for cargo and maturin; the workers of Spark run the Python that has windrow.
export CARGO_TARGET_DIR ?= $(CURDIR)/target
export PYO3_PYTHON := $(PY)
export PYSPARK_PYTHON := $(PY)
export PYSPARK_DRIVER_PYTHON := $(PY)
export VIRTUAL_ENV := $(VENV)
JAVA_FOUND := $(shell tools/toolchain.sh java-home)
ifneq ($(JAVA_FOUND),)
export JAVA_HOME := $(JAVA_FOUND)
endif

# Python compiles what it imports, and keeps it, whatever the environment says: the tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

# pip would compile everything. PySpark is published as source, and pip packs its jars into a wheel only to unpack it
# again, so nothing is compressed. Only the wheel needs Zig.
PIP := --quiet --disable-pip-version-check --no-compile
STORED := --config-settings=--build-option=--compression=stored

# Stamps: the tools follow constraints.txt, the extension module follows whatever it is built from.
# Python sources need no stamp, the package is installed in place.
TOOLS := $(VENV)/.tools
PACKAGE := $(VENV)/.package
RUST_SOURCES := $(shell find rust -type d -o -name '*.rs')
MODULE := $(wildcard python/windrow/_native*.so)

# What builds a wheel, and nothing else: maturin, and on Linux zig, which links for an older glibc.
WHEEL_TOOLS := $(CURDIR)/target/wheel-tools

# Panics of other crates name their sources: by the registry, not by the home of whoever builds.
REMAP := $(RUSTFLAGS) --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=.cargo
MANYLINUX := $(if $(filter Linux,$(shell uname -s)),--zig --compatibility manylinux_2_28)

PYTEST := $(PY) -m pytest --durations=20
SOAK_SEED := $(or $(SOAK_SEED),$(shell date +%s))
SOAK_CASES ?= 5000
SOAK_INPUTS ?= 1000000
SOAK_EXAMPLES ?= 1000
SOAK_STREAMS ?= 12000
SOAK_RECORDS ?= 100000
SOAK_KILLS ?= 50
SOAK_BATCHES ?= 2000
SOAK_SECONDS ?= 600
SOAK_SCHEDULES ?= 20000
SOAK_MUTANTS ?= all
SEED ?= $(shell date +%s)
SCHEDULES ?= 600
FUZZ_INPUTS ?= 100000
FUZZ_BLIND ?= 1000000
FUZZ_TARGET ?= all
BENCH_EVENTS ?= 10000000
BENCH_REPEATS ?= 3
KAFKA_REPEATS ?= 1

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 24

toolchain:
	@tools/toolchain.sh check

.PHONY: maven
maven:
	@tools/toolchain.sh maven

$(TOOLS): constraints.txt | toolchain
	@"$(PY)" -c 'import pip' 2>/dev/null || { rm -rf "$(VENV)"; "$$(tools/toolchain.sh python)" -m venv "$(VENV)"; }
	@echo "windrow: installing the pinned tools into .venv (some minutes the first time)"
	@grep -v ziglang constraints.txt | "$(PY)" -m pip install $(PIP) $(STORED) -r /dev/stdin
	@touch "$@"

# The stamp of the package that was built last: for tests, or with all optimizations.
$(PACKAGE) $(PACKAGE).dist: $(TOOLS) Cargo.toml Cargo.lock pyproject.toml $(RUST_SOURCES) $(if $(MODULE),,missing-module)
	@echo "windrow: building the extension module"
	@rm -f "$(PACKAGE)" "$(PACKAGE).dist"
	@RUSTFLAGS="$(REMAP)" "$(VENV)/bin/maturin" develop --profile $(if $(filter %.dist,$@),dist,release) --locked --quiet
	@touch "$@"

.PHONY: missing-module
missing-module:

package: toolchain $(PACKAGE)

# As the wheel is compiled; the linker takes minutes.
.PHONY: dist-package
dist-package: toolchain $(PACKAGE).dist

$(WHEEL_TOOLS)/.tools: constraints.txt
	@tools/toolchain.sh build
	@rm -rf "$(WHEEL_TOOLS)" && "$$(tools/toolchain.sh python)" -m venv "$(WHEEL_TOOLS)"
	@"$(WHEEL_TOOLS)/bin/python" -m pip install $(PIP) -c constraints.txt maturin $(if $(MANYLINUX),ziglang)
	@touch "$@"

wheel: $(WHEEL_TOOLS)/.tools ## a wheel in target/wheels: on Linux for glibc 2.28 and later, wherever it is built (needs no .venv)
	VIRTUAL_ENV="$(WHEEL_TOOLS)" PYO3_PYTHON="$(WHEEL_TOOLS)/bin/python" PATH="$(WHEEL_TOOLS)/bin:$$PATH" RUSTFLAGS="$(REMAP)" \
		maturin build --profile dist --locked $(MANYLINUX) --out target/wheels
	"$(WHEEL_TOOLS)/bin/python" tools/wheel.py "$$(ls -t target/wheels/*.whl | head -n 1)"

docs: package ## the docs as a site, in target/site, without a warning
	NO_MKDOCS_2_WARNING=1 "$(PY)" -m mkdocs build --strict

pictures: package ## the pictures of docs/pictures, and the outputs of the notebook
	@"$(PY)" tools/pictures.py
	@"$(PY)" -W ignore tools/notebook.py

demo: package ## sessions and sliding windows of a year of flights, in Spark, checked and timed
	@"$(PY)" demo/flights.py

demo-kafka: package maven ## an evening of flights on a real Kafka: windows open and close as events and ticks arrive (a minute)
	@"$(PY)" demo/kafka.py

# $(call beside,some,others) makes both at once, each in its order, and fails if one of them does. pip and the tests on a
# broker mostly wait, and compilers, type checkers and the longest tests of the core use one core.
beside = $(MAKE) $(1) & first=$$!; $(MAKE) $(2) || { wait $$first; exit 1; }; wait $$first

test: toolchain maven ## the tests: Rust, Python, Spark, Kafka, docstrings, and the examples of README and docs
	@$(call beside,package,build-rust-tests)
	@$(call beside,test-rust test-kafka,test-python)
	@$(MAKE) test-spark

.PHONY: build-rust-tests
build-rust-tests:
	cargo test --locked --lib --no-run

test-rust: ## the core: laws, properties, Kafka's steps, recorded runs
	cargo test --locked --lib

test-python: package ## all Python tests that need no Spark, on all cores; no Java is found
	JAVA_HOME=/dev/null $(PYTEST) -n auto --dist worksteal -m "not spark and not slow and not soak" --ignore=tests/python/spark --doctest-modules python/windrow tests/python

test-spark: package ## the tests and examples that start a Spark, in two Sparks side by side
	$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder -m "spark and not slow and not soak" --doctest-modules tests/python/spark tests/python/test_docs.py python/windrow

test-kafka: package maven ## the tests on a broker of their own, on loopback: control messages
	$(PYTEST) -m "not slow and not soak" tests/kafka

test-slow: package maven ## the slow tests, which `make test` leaves out: changed and joined streams, pipelines, Connect, real events, Kafka Streams
	@$(call beside,test-slow-kafka,test-slow-python)

.PHONY: test-slow-python test-slow-kafka
test-slow-python: package
	$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder -m "slow and not soak" tests/python

test-slow-kafka: package maven
	$(PYTEST) -m "slow and not soak" tests/kafka

simulate: package ## streams on a simulated cluster whose tasks and drivers die, beside an oracle (SEED=, SCHEDULES=, REPLAY= a file of schedules)
	@"$(PY)" -m tests.python.simulation --seed "$(SEED)" --schedules "$(SCHEDULES)" --replay "$(REPLAY)"

fuzz: ## damaged pages, blocks, rows and queries: no panic, no hang, little memory (FUZZ_INPUTS= and FUZZ_BLIND= of each target, FUZZ_TARGET=)
	@tools/toolchain.sh fuzz
	@"$$(tools/toolchain.sh python)" tools/fuzz.py --inputs="$(FUZZ_INPUTS)" --blind="$(FUZZ_BLIND)" \
		--target="$(FUZZ_TARGET)"

test-versions: package maven ## the tests of Spark on each version of tests/versions (VERSIONS="3.5 4.0", SMOKE=--smoke), and a table
	$(PY) tools/versions.py $(SMOKE) $(VERSIONS)

check: toolchain ## formats, lints, types, docs, licences, the stub against the binary, and the rules of the house
	@$(call beside,check-python,check-rust)

# Benches need the feature `bench`. It makes rooms public, which hides dead code, so the second clippy goes without it.
# Both have the feature `python`, so they check the dependencies once. Nothing is linked, so any Python will do.
.PHONY: check-rust check-python
check-rust: export PYO3_PYTHON = $(shell tools/toolchain.sh python)
check-rust:
	cargo fmt --all --check
	cargo clippy --locked --lib --benches --features bench,python -- -D warnings
	cargo clippy --locked --all-targets --features python -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --document-private-items --features python
	@if command -v cargo-deny >/dev/null; then cargo deny --locked check licenses bans sources; \
	else echo "windrow: cargo-deny is absent, deny.toml is not checked: cargo install cargo-deny --locked"; fi

check-python: package
	"$(VENV)/bin/ruff" format --check
	"$(VENV)/bin/ruff" check
	"$(PY)" -m mypy --strict python/windrow
	MYPYPATH=python "$(PY)" -m mypy.stubtest windrow._native
	"$(PY)" tools/guard.py

bench: dist-package ## the core by layer, then windrow beside Spark, Polars and DuckDB (BENCH_EVENTS=, BENCH_REPEATS=)
	cargo bench --locked --features bench --benches -- --quick
	"$(PY)" benches/python/sessions.py --events $(BENCH_EVENTS) --repeats $(BENCH_REPEATS)
	"$(PY)" benches/python/sessions.py --events $$((2 * $(BENCH_EVENTS))) --users $(BENCH_EVENTS) --key i64 \
		--repeats $(BENCH_REPEATS)
	"$(PY)" benches/python/small.py
	"$(PY)" benches/python/scan.py --events $(BENCH_EVENTS) --repeats $(BENCH_REPEATS)
	"$(PY)" benches/python/rows.py --repeats $(BENCH_REPEATS)
	"$(PY)" benches/python/rolling.py --events $(BENCH_EVENTS) --repeats $(BENCH_REPEATS)
	"$(PY)" benches/python/functions.py --repeats $(BENCH_REPEATS)
	"$(PY)" benches/python/funnel.py --events $(BENCH_EVENTS) --repeats $(BENCH_REPEATS)
	"$(PY)" benches/python/records.py --repeats $(BENCH_REPEATS)
	"$(PY)" benches/python/memory.py --events $$((10 * $(BENCH_EVENTS)))

bench-check: package ## the instructions of thirteen workloads, compared with benches/instructions.json (RECORD=--record writes it)
	@tools/toolchain.sh callgrind
	@"$(PY)" benches/python/instructions.py $(RECORD)

bench-grow: dist-package ## how cost grows with events, keys, records, open sessions, windows in one pass; pictures of it (GROW=)
	"$(PY)" benches/python/growth.py --repeats $(BENCH_REPEATS) $(GROW)
	@"$(PY)" tools/pictures.py

bench-stream: dist-package ## streaming sessions beside session_window: micro-batches and open sessions of several sizes (some 40 minutes)
	"$(PY)" benches/python/streaming.py --repeats $(BENCH_REPEATS)

bench-kafka: dist-package maven ## a topic through Spark and windrow beside Kafka Streams, Spark's own scan of it, idle producers (KAFKA_REPEATS=, some minutes)
	"$(PY)" benches/python/kafka.py --repeats $(KAFKA_REPEATS)

bench-nexmark: dist-package maven ## Nexmark's q11 and q0 by windrow on Spark beside Flink, from Parquet and from Kafka (NEXMARK=)
	"$(PY)" benches/python/nexmark.py --repeats $(BENCH_REPEATS) $(NEXMARK)

mutants: ## faults planted in the core, and how many the tests notice, by room (SEED=, MUTANTS=12, ROOM=, RECORD=--record; some 40 s each)
	@tools/toolchain.sh build
	@"$$(tools/toolchain.sh python)" tools/mutants.py --seed="$(SEED)" $(if $(MUTANTS),--mutants="$(MUTANTS)") \
		$(if $(ROOM),--room="$(ROOM)") $(RECORD)

mutants-python: package ## faults planted in the Python package, each with the test that must see it (some minutes)
	$(PYTEST) -m soak tests/python/mutants

soak: package maven ## long random tests (SOAK_CASES=, SOAK_INPUTS=, SOAK_EXAMPLES=, SOAK_STREAMS=, SOAK_SCHEDULES=), kills (SOAK_KILLS=), long streams (SOAK_BATCHES=, SOAK_SECONDS=), all mutants of one room (SOAK_MUTANTS=)
	SOAK_CASES=$(SOAK_CASES) CARGO_PROFILE_DEV_OPT_LEVEL=1 cargo test --locked
	$(MAKE) fuzz FUZZ_INPUTS=$(SOAK_INPUTS)
	cargo bench --locked --features bench --benches -- --test
	SOAK_EXAMPLES=$(SOAK_EXAMPLES) $(PYTEST) -n auto --dist worksteal --hypothesis-profile soak \
		-m "hypothesis and not spark and not soak" tests/python
	WINDROW_FIRST_SEED=$(SOAK_SEED) WINDROW_STREAMS=$(SOAK_STREAMS) WINDROW_SCHEDULES=$(SOAK_SCHEDULES) \
		WINDROW_KILLS=$(SOAK_KILLS) WINDROW_MICRO_BATCHES=$(SOAK_BATCHES) \
		WINDROW_QUERY_SECONDS=$(SOAK_SECONDS) $(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder -m soak tests/python
	WINDROW_RECORDS=$(SOAK_RECORDS) $(PYTEST) tests/kafka/test_streams.py tests/kafka/test_end_to_end.py
	$(MAKE) mutants SEED=$(SOAK_SEED) ROOM=drawn MUTANTS=$(SOAK_MUTANTS)
	@echo "soak: passed: Rust properties of $(SOAK_CASES) cases (costly ones fewer), $(SOAK_INPUTS) damaged" \
		"inputs of each target, Python properties of $(SOAK_EXAMPLES) examples, $(SOAK_STREAMS) streams in 3 ways each and $(SOAK_SCHEDULES) schedules from seed $(SOAK_SEED)"

clean: ## removes what the other targets made
	rm -rf .venv target build spark-warehouse metastore_db derby.log .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f python/windrow/_native*.so
	find python tests demo benches tools -name __pycache__ -type d -prune -exec rm -rf {} +
