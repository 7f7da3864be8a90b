"""All cases."""

from __future__ import annotations

from importlib import import_module

from .case import Case

SECTIONS = (
    "1",
    "1_micro_batches",
    "1_history",
    "2",
    "2_rules",
    "2_ends",
    "3",
    "4",
    "5",
    "6",
    "6_pace",
    "6_left_out",
    "6_activity",
    "6_funnel_times",
    "6_min_samples",
    "7",
    "8",
    "9",
)
CASES: tuple[Case, ...] = tuple(
    each for section in SECTIONS for each in import_module(f".section_{section}", __package__).CASES
)
