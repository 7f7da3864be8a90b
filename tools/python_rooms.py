"""The rooms of the Python package, and which may import which.

* A module imports rooms before its own in `ORDER`, and modules of its own room without cycles. Imports for types count
  too, except those of `windrow._native`: any room may name its types.
* A room without a leading `_` is public.
* Only the code that an executor runs to find windrow imports `windrow` itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "python/windrow/"
LEAST_FILES = 30
ORDER = (
    {"_arguments"},
    {"_windows", "_folds"},
    {"_aggregates"},
    {"_plan"},
    {"_native"},
    {"_executor"},
    {"_local", "_spark", "_replay"},
    {"functions"},
    {"_query"},
    {"testing"},
    {"state"},
    {"kafka"},
    {"_inspection"},
    {"plot"},
    {"_command"},
    {"__main__"},
    {""},  # the package itself
)
RANK = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}
NATIVE = "_native"
REMOTE = "_executor.shipping"


@dataclass(frozen=True)
class Import:
    """One module that a line imports, by its name below `windrow`."""

    module: str
    line: int
    inside: bool
    types: bool


def breaches(files: dict[str, str]) -> list[str]:
    """The forbidden imports of the package's files, which are given by name."""
    sources = {name: text for name, text in files.items() if name.startswith(PACKAGE) and name.endswith(".py")}
    modules = {_module(name): name for name in sources}
    if len(modules) < LEAST_FILES:
        return [f"the guard saw {len(modules)} modules of {PACKAGE}, fewer than {LEAST_FILES}"]
    found, arrows = list[str](), dict[str, set[str]]()
    for module, name in modules.items():
        if _room(module) not in RANK:
            found.append(f"{name}: room {_room(module)!r} has no place in the order of rooms (tools/python_rooms.py)")
            continue
        for imported in _imports(module, name, ast.parse(sources[name]), modules):
            wrong = _wrong(module, imported)
            found += [f"{name}:{imported.line}: {wrong}"] if wrong else []
            if _room(module) == _room(imported.module):
                arrows.setdefault(module, set()).add(imported.module)
    return found + [
        f"{modules[circle[0]]}: imports itself by way of {', '.join(circle)}" for circle in _circles(arrows)
    ]


def _wrong(module: str, imported: Import) -> str | None:
    """Why an import is forbidden; None if it is allowed."""
    room, other = _room(module), _room(imported.module)
    if other == "":
        allowed = module == REMOTE and imported.inside
        return None if allowed else "windrow itself is imported inside of it: name the module"
    if other not in RANK:
        return f"there is no windrow.{imported.module}"
    if other == room or RANK[other] < RANK[room] or (other == NATIVE and imported.types):
        return None
    return f"room {room!r} may not name room {other!r}"


def _module(name: str) -> str:
    """`python/windrow/_local/query.py` is `_local.query`. An `__init__.py` is its room; the package's own is empty."""
    parts = Path(name.removeprefix(PACKAGE)).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _room(module: str) -> str:
    return module.partition(".")[0]


def _imports(module: str, name: str, tree: ast.AST, modules: dict[str, str]) -> Iterator[Import]:
    """Every import of the package in a module, at any depth."""

    def walk(node: ast.AST, inside: bool, types: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import | ast.ImportFrom):
                for target in _targets(module, name, child, modules):
                    yield Import(target, child.lineno, inside, types)
            of_types = isinstance(child, ast.If) and ast.unparse(child.test) in (
                "TYPE_CHECKING",
                "typing.TYPE_CHECKING",
            )
            of_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from walk(child, inside or of_function, types or of_types)

    yield from walk(tree, inside=False, types=False)


def _targets(module: str, name: str, node: ast.Import | ast.ImportFrom, modules: dict[str, str]) -> Iterator[str]:
    """The modules of the package that an import names, relative to `windrow`."""
    if isinstance(node, ast.Import):
        dotted = [alias.name for alias in node.names]
    elif node.level:
        package = [*module.split("."), ""] if name.endswith("__init__.py") else module.split(".")
        base = ".".join(["windrow", *filter(None, package[: -node.level]), *filter(None, [node.module])])
        dotted = [f"{base}.{alias.name}" for alias in node.names]
    else:
        dotted = [f"{node.module}.{alias.name}" for alias in node.names]
    for path in dotted:
        first, *rest = path.split(".")
        if first != "windrow":
            continue
        below = ".".join(rest)
        # `from module import name` names the module, unless the name is one itself.
        is_module = below in modules or below == NATIVE or isinstance(node, ast.Import)
        yield below if is_module else ".".join(rest[:-1])


def _circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """One path around each import cycle."""
    found: list[list[str]] = []
    done: set[str] = set()

    def follow(module: str, way: list[str]) -> None:
        if module in way:
            found.append([*way[way.index(module) :], module])
            return
        if module in done:
            return
        for other in sorted(arrows.get(module, ())):
            follow(other, [*way, module])
        done.add(module)

    for module in sorted(arrows):
        follow(module, [])
    return found
