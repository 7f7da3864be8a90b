"""Prints the book: `python -m tests.cases` how many cases each rule has, and how many of them each way plays;
`python -m tests.cases 2.3` a rule and its cases.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent

from .book import CASES
from .case import WAYS, Case
from .query import Query

RULES = Path(__file__).resolve().parents[2] / "docs" / "rules.md"


def rules() -> dict[str, str]:
    """The text of each rule; of a section without numbered rules that of the section."""
    found = dict[str, str]()
    _, *parts = re.split(r"^## (\d+)\. .*\n", RULES.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for section, text in zip(parts[::2], parts[1::2], strict=True):
        _, *own = re.split(r"^(\d+)\. ", text, flags=re.MULTILINE)
        found |= {f"{section}.{rule}": body for rule, body in zip(own[::2], own[1::2], strict=True)} or {section: text}
    return found


def table() -> str:
    """For each rule the number of its cases, and of those that each way plays."""
    lines = [f"{'rule':6}{'cases':>6}" + "".join(f"{way:>13}" for way in WAYS)]
    for rule in (*rules(), "all"):
        cases = [case for case in CASES if rule in (*case.rules, "all")]
        played = (sum(way not in case.cannot for case in cases) for way in WAYS)
        lines.append(f"{rule:6}{len(cases):6}" + "".join(f"{number:13}" for number in played))
    return "\n".join(lines)


def shown(case: Case) -> str:
    """A case: its rules and name, what of its query is not usual, and its drawing."""
    usual = {field.name: getattr(Query(case.query.windows), field.name) for field in dataclasses.fields(Query)}
    query = {name: value for name, value in vars(case.query).items() if name == "windows" or value != usual[name]}
    words = ", ".join(f"{name}={value}" for name, value in query.items())
    return f"{', '.join(case.rules)}: {case.name}\n  {words}\n{dedent(case.drawing).strip()}\n"


def main(arguments: Sequence[str]) -> int:
    """Prints what is asked for; 2 for a rule that there is not."""
    if not arguments:
        print(table())
        return 0
    if (text := rules().get(arguments[0])) is None:
        print(f"rule: got {arguments[0]!r}; allowed: a number of docs/rules.md, such as 2.6", file=sys.stderr)
        return 2
    print(f"{arguments[0]}. {text}")
    print(*(shown(case) for case in CASES if arguments[0] in case.rules), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
