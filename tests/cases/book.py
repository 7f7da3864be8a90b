"""All cases."""

from __future__ import annotations

from . import (
    section_1,
    section_2,
    section_2_rules,
    section_3,
    section_4,
    section_5,
    section_6,
    section_7,
    section_8,
    section_9,
)
from .case import Case

SECTIONS = (
    section_1,
    section_2,
    section_2_rules,
    section_3,
    section_4,
    section_5,
    section_6,
    section_7,
    section_8,
    section_9,
)
CASES: tuple[Case, ...] = tuple(each for section in SECTIONS for each in section.CASES)
