"""Faults of the steps of streams and of records left out, as texts of their files."""

from __future__ import annotations

from .patch import Patch

CASE = "conformance/test_cases.py::test_a_case_gives_the_windows_of_its_rule[{}]"
STEPS = "native/test_stream_steps.py::test_no_answer_depends_on_splits_and_shards[0]"
NEXT_STEPS = "native/test_stream_steps.py::test_no_answer_depends_on_splits_and_shards[50]"
PACED = "native/test_stream_steps.py::test_no_answer_of_paced_updates_depends_on_splits_and_shards[{}]"
AHEAD = CASE.format("1.1-a record that is too far ahead of the clock moves no stream time-stream")

CONTROL, INDEX, PAGES, ORDER, PACK, SHARD, CHANGE_BLOCK, LEFT_OUT = (
    *(
        f"_executor/stream/{name}.py"
        for name in ("control", "index", "pages", "order", "pack", "shard", "change_block")
    ),
    "_executor/left_out.py",
)

PATCHES = [
    Patch(CONTROL, "max(time, self.times", "min(time, self.times", STEPS),
    Patch(
        CONTROL,
        "max(time, self.ticks.get(number, time))",
        "time",
        CASE.format("1.5-of two ticks of all sources in a micro-batch the later time counts-stream"),
    ),
    Patch(CONTROL, "self.ordered += other.ordered", "pass", NEXT_STEPS),
    Patch(CONTROL, "self.counters if counted else {}", "self.counters", STEPS),
    Patch(
        INDEX,
        "first <= end",
        "first < end",
        "native/test_state_parts.py::test_a_page_may_hold_a_window_at_each_of_its_bounds",
    ),
    Patch(
        INDEX,
        "digits <= self.keys[1]",
        "digits < self.keys[1]",
        "native/test_state_parts.py::test_differential_windows_of_a_key_are_those_of_the_driver[sessions-built in]",
    ),
    Patch(
        INDEX,
        "if text != _sealed",
        "if not text and text != _sealed",
        "native/test_stream_pages.py::test_a_flipped_bit_is_found_wherever_it_is[sessions]",
    ),
    Patch(
        INDEX,
        " or _checksum(text) != page.checksum",
        "",
        "native/test_stream_pages.py::test_a_page_of_an_older_micro_batch_is_named[sessions]",
    ),
    Patch(
        INDEX,
        "if name not in self.pages:",
        "if False:",
        "native/test_stream_pages.py::test_a_page_too_many_is_named[sessions]",
    ),
    Patch(
        PAGES,
        "if index.shard != self.index.shard:",
        "if False:",
        "native/test_stream_pages.py::test_the_state_of_another_shard_is_reported[sessions]",
    ),
    Patch(
        PAGES,
        "if saved != own:",
        "if False:",
        "native/test_stream_pages.py::test_a_state_of_other_sources_is_refused",
    ),
    Patch(PAGES, "self.index.pages.get(QUERY) == Page.of_text(query)", "QUERY in self.index.pages", PACED.format(0)),
    Patch(PAGES, "index.inputs[self.numbers[source]].add(number)", "pass", NEXT_STEPS),
    Patch(
        ORDER,
        '(_TIME, "descending")',
        '(_TIME, "ascending")',
        CASE.format("1.3-records of one order judge each other-stream"),
    ),
    Patch(
        ORDER,
        "pc.greater_equal(order, place)",
        "pc.greater(order, place)",
        CASE.format("1.3-a tick of all sources judges the records of its own order-stream"),
    ),
    Patch(ORDER, "pc.and_(rows[_TICK], _after_all(query, rows))", "rows[_TICK]", STEPS),
    Patch(PACK, "self._arrived += batch.num_rows", "pass", "native/test_stream_steps.py::test_a_function"),
    Patch(
        PACK,
        "pc.greater(batch.column(query.spec.time)",
        "pc.greater_equal(batch.column(query.spec.time)",
        AHEAD,
    ),
    Patch(PACK, '("ahead", count - ticks)', '("ahead", count)', AHEAD),
    Patch(
        PACK,
        "ends_ahead = pc.fill_null(pc.greater(",
        "ends_ahead = pc.fill_null(pc.less(",
        CASE.format("6.13-a record whose end is ahead of the clock is ahead-stream"),
    ),
    Patch(PACK, "self._control.observe(source, number, time)", "pass", AHEAD),
    Patch(SHARD, "rows = sorted(rows, key=lambda row: (row.first, row.block))", "rows = list(rows)", STEPS),
    Patch(SHARD, "if not is_slowest or number in pages.index.inputs[each]", "", PACED.format(50)),
    Patch(SHARD, "or source in blocks or every:", "or source in blocks:", PACED.format(0)),
    Patch(SHARD, "rows or progress or (every and sources)", "rows or progress", PACED.format(100)),
    Patch(SHARD, "changed.after[name] - changed.before[name]", "changed.after[name]", STEPS),
    Patch(
        CHANGE_BLOCK,
        "place += rows.num_rows",
        "pass",
        "native/test_change_blocks.py::"
        "test_the_sequence_goes_on_over_blocks_and_begins_above_that_of_the_micro_batch_before",
    ),
]
