"""Checks the rooms of the crate: which may use which, no cycles, who may name Arrow and pyo3, unique type names.

The tables in `rust/lib.rs` and `rust/core/mod.rs` give the order. A room uses only the rooms in the rows above its own,
and rooms in one row never use each other. Tests may use every room.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

CRATE = "rust/"
LEAST_EDGES = 300
TABLES_OF_CONTENTS = {"lib": "", "core": "core::"}

ROW = re.compile(r"^//! \| ((?:\[?`\w+`\]?(?:\(mod@\w+\))?(?:, )?)+) \|", re.MULTILINE)
ARROW = re.compile(r"\b(arrow_(array|buffer|cast|data|ipc|row|schema|select|ord|arith)|pyo3_arrow)\b")
TYPE = re.compile(r"^(?:pub(?:\([a-z: ]+\))? )?(?:struct|enum|trait|type) (\w+)", re.MULTILINE)
PYO3 = re.compile(r"\bpyo3(_arrow)?\b")
COMMENT = re.compile(r"//.*")
TESTS = re.compile(r"/tests(/|\.rs$)")
OWN_TESTS = re.compile(r"#\[cfg\(test\)\]\nmod tests \{.*", re.DOTALL)
USE = re.compile(r"\buse ((?:crate|super|self)::[^;]+);")
PATH = re.compile(r"\b(?:crate|super|self)(?:::\w+)+")


def module_of(name: str) -> str:
    """`rust/plan/mod.rs` is `plan`, `rust/core/time.rs` is `core::time`."""
    parts = name.removeprefix(CRATE).removesuffix(".rs").split("/")
    return "::".join(parts[:-1] if parts[-1] == "mod" else parts)


def room_of(module: str) -> str:
    """`plan::query` is in the room `plan`, `core::store::entry` in `core::store`."""
    parts = module.split("::")
    return "::".join(parts[:2]) if parts[0] == "core" else parts[0]


def ranks(modules: dict[str, tuple[str, str]]) -> dict[str, int]:
    """The row of each room in the tables of contents. The table of `core` comes before the crate's."""
    rows: list[list[str]] = []
    for table, prefix in reversed(TABLES_OF_CONTENTS.items()):
        rows += [[prefix + room for room in re.findall(r"`(\w+)`", row)] for row in ROW.findall(modules[table][1])]
    return {room: rank for rank, row in enumerate(rows) for room in row}


def leaves(prefix: str, tree: str) -> Iterator[str]:
    """The paths of a `use`: `a::{b, c::{self, d}}` is `a::b`, `a::c`, `a::c::d`."""
    head, brace, rest = tree.partition("{")
    if not brace:
        yield prefix.removesuffix("::") if tree == "self" else prefix + tree
        return
    depth, part = 0, ""
    for sign in rest[: rest.rindex("}")] + ",":
        if sign == "," and depth == 0:
            if part:
                yield from leaves(prefix + head, part)
            part = ""
            continue
        depth += {"{": 1, "}": -1}.get(sign, 0)
        part += sign


def uses(module: str, text: str, known: set[str]) -> set[str]:
    """The modules of the crate that a file names."""
    code = COMMENT.sub("", OWN_TESTS.sub("", text))
    paths = [leaf for use in USE.findall(code) for leaf in leaves("", re.sub(r"\s+as\s+\w+|\s+", "", use))]
    paths += PATH.findall(USE.sub("", code))
    found = set()
    for path in paths:
        parts, base = path.split("::"), module.split("::")
        if parts[0] == "crate":
            parts, base = parts[1:], []
        while parts and parts[0] in ("super", "self"):
            base = base[:-1] if parts[0] == "super" else base
            parts = parts[1:]
        whole = base + parts
        named = next((m for n in range(len(whole), 0, -1) if (m := "::".join(whole[:n])) in known), None)
        if named and named != module:
            found.add(named)
    return found


def breaches(texts: dict[str, str]) -> list[str]:
    """The forbidden uses and the cycles in the crate's files, which are given by name."""
    texts = {name: text for name, text in texts.items() if not TESTS.search(name)}
    modules = {module_of(name): (name, text) for name, text in texts.items()}
    rank = ranks(modules)
    found, graph = [], {}
    for module, (name, text) in modules.items():
        room = room_of(module)
        if module in TABLES_OF_CONTENTS:
            continue
        if room not in rank:
            found.append(f"{name}: room {room!r} is missing from the tables in rust/lib.rs and rust/core/mod.rs")
            continue
        graph[module] = uses(module, text, set(modules))
        others = sorted({room_of(used) for used in graph[module]} - {room})
        upward = [other for other in others if rank.get(other, len(rank)) >= rank[room]]
        found += [f"{name}: room {room!r} may not name room {other!r}" for other in upward]
        for number, line in enumerate(text.splitlines(), 1):
            if room.startswith("core") and room != "core::aggregate" and ARROW.search(line):
                found.append(f"{name}:{number}: an Arrow crate is named in rust/core outside of rust/core/aggregate")
            if room != "py" and PYO3.search(line):
                found.append(f"{name}:{number}: pyo3 is named outside rust/py")
    # The module of a folder lists its files, and they use its shared items. This is not a cycle.
    files = {module: {other for other in used if not module.startswith(f"{other}::")} for module, used in graph.items()}
    files = {module: {o for o in used if not o.startswith(f"{module}::")} for module, used in files.items()}
    try:
        TopologicalSorter(files).prepare()
    except CycleError as circle:
        found.append(f"files of the crate name each other in a circle: {' -> '.join(circle.args[1])}")
    names: dict[str, str] = {}
    for name, text in texts.items():
        for type_name in TYPE.findall(text):
            if names.setdefault(type_name, name) != name:
                found.append(f"{name}: the type {type_name!r} appears twice, also in {names[type_name]}")
    edges = sum(map(len, graph.values()))
    if edges < LEAST_EDGES:
        found.append(
            f"the guard saw {edges} imports in the crate, fewer than {LEAST_EDGES}: it looks in the wrong place"
        )
    return found
