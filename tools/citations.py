"""Checks that cited rules, pages and links exist, and that no address or package of a stranger is taken for ours."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RULES = "docs/rules.md"
BOOK = "tests/cases/book.jsonl"
SECTION = re.compile(r"^## (\d+)\. ", re.MULTILINE)
RULE = re.compile(r"^(\d+)\. ", re.MULTILINE)
NUMBERS = r"\d+(?:\.\d+)?(?:(?:, | and | to )\d+(?:\.\d+)?)*(?![\d:%])"
CITED = re.compile(rf"\b[Rr]ules?(?: of)? ({NUMBERS})")
INNER = re.compile(r"(?<![\w.,])[1-9]\.\d{1,2}(?!\w|\.\d)")  # how the rules cite each other: 2.1, 6.12
LEAST_CITED = 60
PAGE = re.compile(r"(?<![\w*{.-])([\w./-]*\w\.md)\b|\b(kafka-semantics|spark-facts|kafka-broker)\b")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
STRANGERS = re.compile(
    r"github\.com/windrow|windrow\.github\.io|pip install\b[^|`]*?[\s'\"]windrow(?![./\w])|(?<![\w.])windrow\[[a-z]+\]"
)
"""Addresses that are not ours, and the package `windrow` of an index, which is not ours either."""
SHARED = re.compile(r"\.\./shared/(?!data\b)\w+")


def rules_written(text: str) -> set[str]:
    """The numbers on a page of rules: `2` for a section, `2.6` for a rule in it."""
    found: set[str] = set()
    _, *parts = SECTION.split(text)
    for section, body in zip(parts[::2], parts[1::2], strict=True):
        found |= {section, *(f"{section}.{rule}" for rule in RULE.findall(body))}
    return found


def citations(name: str, text: str) -> list[tuple[str, str]]:
    """Each citation of a rule: its place and the rule."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for cited in CITED.findall(line) + (INNER.findall(line) if name == RULES else []):
            found += [(f"{name}:{number}", one) for one in re.findall(r"\d+(?:\.\d+)?", cited)]
    return found


def rule_breaches(texts: dict[str, str]) -> list[str]:
    """Citations of missing rules. Too few citations are also a breach, because the pattern is then wrong."""
    written = rules_written(texts.get(RULES, ""))
    cited = [citation for name, text in texts.items() for citation in citations(name, text)]
    found = [f"{where}: rules {rule} is not in {RULES}" for where, rule in cited if rule not in written]
    if len(cited) < LEAST_CITED:
        found.append(f"the guard saw {len(cited)} citations of rules, fewer than {LEAST_CITED}: it reads them wrongly")
    return found


def case_breaches(texts: dict[str, str]) -> list[str]:
    """Rules without a case. A section without numbered rules needs a case too."""
    written = rules_written(texts.get(RULES, ""))
    whole = {rule.partition(".")[0] for rule in written if "." in rule}
    shown = {rule for line in texts.get(BOOK, "").splitlines() for rule in json.loads(line)["rules"]}
    missing = sorted(written - whole - shown, key=lambda rule: [int(part) for part in rule.split(".")])
    return [f"{RULES}: rules {rule} has no case: add one to tests/cases, and write {BOOK}" for rule in missing]


def page_breaches(texts: dict[str, str], tree: set[str]) -> list[str]:
    """Named or linked pages and folders that a clone does not have."""
    found = []
    names = {part for name in tree for part in (name, Path(name).name)}
    for name, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            where, beside = f"{name}:{number}", Path("docs/" if name == "mkdocs.yml" else Path(name).parent)
            pages = ["".join(page) for page in PAGE.findall(line)]
            lost = [page for page in pages if page not in names and not (ROOT / beside / page).is_file()]
            if name.endswith(".md"):
                lost += [link for link in LINK.findall(line) if not (ROOT / beside / link).exists()]
            lost += SHARED.findall(line)
            found += [f"{where}: {page} is not in the repository" for page in dict.fromkeys(lost)]
            found += [f"{where}: {stranger} is not ours" for stranger in STRANGERS.findall(line)]
    return found


def breaches(texts: dict[str, str], tree: set[str]) -> list[str]:
    """One line for each citation without a target and each rule without a case. `texts` are the files, by name."""
    return rule_breaches(texts) + case_breaches(texts) + page_breaches(texts, tree)
