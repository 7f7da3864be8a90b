#!/usr/bin/env bash
# Finds the tools that windrow needs to build and run.
#   tools/toolchain.sh check      lists missing tools and how to install them, exits with 1 if any is missing
#   tools/toolchain.sh build      the same for the tools that build a wheel
#   tools/toolchain.sh maven      the same for the additional tools of broker tests and demos
#   tools/toolchain.sh fuzz       the same for the tools that build the fuzzer
#   tools/toolchain.sh callgrind  the same for the tools that count instructions
#   tools/toolchain.sh python     prints a Python that can create the virtual environment
#   tools/toolchain.sh java-home  prints the home of a Java for Spark, or nothing
set -euo pipefail

PYTHON_LEAST=3.11
RUST_LEAST=1.95
JAVA_LEAST=17

# at_least GOT LEAST: both as MAJOR.MINOR or longer
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# The first Python that is new enough and can create virtual environments. Tries $PYTHON first.
python() {
  local name probe='import sys, venv, ensurepip; sys.exit(sys.version_info[:2] < tuple(map(int, sys.argv[1].split("."))))'
  for name in "${PYTHON:-}" python3.11 python3.12 python3.13 python3.14 python3 /usr/bin/python3; do
    if [ -n "$name" ] && "$name" -c "$probe" "$PYTHON_LEAST" >/dev/null 2>&1; then
      "$name" -c 'import sys; print(sys.executable)'
      return 0
    fi
  done
  return 1
}

# The major version of the Java in a home (8 for 1.8), or nothing.
java_version() {
  local said
  said=$("$1/bin/java" -version 2>&1) || return 1
  printf '%s\n' "$said" | sed -nE 's/.*version "(1\.)?([0-9]+).*/\2/p' | head -n 1
}

# The first home with a Java that is new enough. If JAVA_HOME is set, tries no other.
java_home() {
  local home
  if [ -n "${JAVA_HOME:-}" ]; then
    java_fits "$JAVA_HOME" && printf '%s\n' "$JAVA_HOME"
    return
  fi
  {
    if command -v java >/dev/null 2>&1; then dirname "$(dirname "$(readlink -f "$(command -v java)")")"; fi
    if [ -x /usr/libexec/java_home ]; then /usr/libexec/java_home 2>/dev/null || true; fi
    ls -d /usr/lib/jvm/* 2>/dev/null || true
  } | while read -r home; do
    if java_fits "$home"; then printf '%s\n' "$home"; break; fi
  done
}

java_fits() {
  local version
  version=$(java_version "$1") && [ -n "$version" ] && at_least "$version" "$JAVA_LEAST"
}

missing=0
say() { printf 'windrow: %s\n' "$*" >&2; missing=1; }

build() {
  local rust found
  if ! python >/dev/null; then
    say "Python $PYTHON_LEAST or newer with its venv module is missing: install it (Debian and Ubuntu: apt install python3 python3-venv; macOS: brew install python), or name one with PYTHON=/path/to/python."
  fi
  if ! command -v cargo >/dev/null 2>&1 || ! rust=$(rustc --version 2>/dev/null); then
    say "Rust $RUST_LEAST or newer is missing: install rustup from rustup.rs, then run: rustup toolchain install stable"
  else
    found=$(printf '%s\n' "$rust" | sed -nE 's/^rustc ([0-9.]+).*/\1/p')
    at_least "$found" "$RUST_LEAST" || say "Rust $found is too old, windrow needs $RUST_LEAST or newer: run: rustup update stable"
  fi
  command -v cc >/dev/null 2>&1 || say "a C linker (cc) is missing, Rust links with it: install it (Debian and Ubuntu: apt install build-essential; macOS: xcode-select --install)."
  return "$missing"
}

check() {
  local tool
  build || true
  if command -v cargo >/dev/null 2>&1; then
    for tool in fmt clippy; do
      cargo "$tool" --version >/dev/null 2>&1 || say "cargo $tool is missing: run: rustup component add ${tool/fmt/rustfmt}"
    done
  fi
  if [ -z "$(java_home || true)" ]; then
    if [ -n "${JAVA_HOME:-}" ]; then
      say "JAVA_HOME=$JAVA_HOME holds no Java $JAVA_LEAST or newer, Spark needs one: point it at one or unset it."
    else
      say "Java $JAVA_LEAST or newer is missing, Spark runs on it: install it (Debian and Ubuntu: apt install openjdk-17-jre-headless; macOS: brew install openjdk), or set JAVA_HOME."
    fi
  fi
  return "$missing"
}

maven() {
  local home
  if ! command -v mvn >/dev/null 2>&1; then
    say "Maven is missing, it fetches the broker, Kafka Streams and Spark's connector: install it (Debian and Ubuntu: apt install maven; macOS: brew install maven)."
  fi
  home=$(java_home || true)
  if [ -n "$home" ] && [ ! -x "$home/bin/javac" ]; then
    say "$home has no compiler, the program for Kafka Streams is built with it: install a JDK (Debian and Ubuntu: apt install openjdk-17-jdk-headless; macOS: brew install openjdk), or set JAVA_HOME."
  fi
  return "$missing"
}

fuzz() {
  build || true
  command -v c++ >/dev/null 2>&1 || say "a C++ compiler (c++) is missing, libFuzzer is built with it: install it (Debian and Ubuntu: apt install build-essential; macOS: xcode-select --install)."
  return "$missing"
}

callgrind() {
  build || true
  if ! command -v valgrind >/dev/null 2>&1; then
    say "valgrind is missing, it counts instructions: install it (Debian and Ubuntu: apt install valgrind). macOS has none: use Linux."
  fi
  return "$missing"
}

case "${1:-check}" in
  check) check ;;
  build) build ;;
  maven) maven ;;
  fuzz) fuzz ;;
  callgrind) callgrind ;;
  python) python ;;
  java-home) java_home || true ;;
  *) printf 'usage: %s check | build | maven | callgrind | python | java-home\n' "$0" >&2; exit 2 ;;
esac
