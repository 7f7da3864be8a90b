"""Faults of the steps of streams and of records left out, as texts of their files."""

from __future__ import annotations

from .patch import Patch

CASE = "conformance/test_cases.py::test_a_case_gives_the_windows_of_its_rule[{}]"
STEPS = "native/test_simulation.py::test_streams_whose_tasks_and_drivers_die_keep_the_laws"
AHEAD = CASE.format("1.1-a record that is too far ahead of the clock moves no stream time-stream")

ALONE = "native/test_left_out.py::test_the_window_of_a_record_is_the_one_that_it_would_have_alone"
ROWS = "native/test_stream_rows.py::test_the_rows_of_sessions_come_when_these_close_and_are_those_of_the_oracle"

CONTROL = "_executor/stream/control.py"
INDEX = "_executor/stream/index.py"
PAGES = "_executor/stream/pages.py"
ORDER = "_executor/stream/order.py"
PACK = "_executor/stream/pack.py"
SHARD = "_executor/stream/shard.py"
CHANGE_BLOCK = "_executor/stream/change_block.py"
RETURNED = "_executor/stream/returned_records.py"
LEFT_OUT = "_executor/left_out.py"

PATCHES = [
    Patch(CONTROL, "max(time, self.times", "min(time, self.times", STEPS),
    Patch(
        CONTROL,
        "max(time, self.ticks.get(number, time))",
        "time",
        CASE.format("1.5-of two ticks of all sources in a micro-batch the later time counts-stream"),
    ),
    Patch(CONTROL, "self.ordered += other.ordered", "pass", STEPS),
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
        "native/test_stream_pages.py::"
        "test_damage_is_named_where_it_is_read_and_harms_nothing_elsewhere[sessions-flipped]",
    ),
    Patch(
        INDEX,
        " or _checksum(text) != page.checksum",
        "",
        "native/test_stream_pages.py::"
        "test_damage_is_named_where_it_is_read_and_harms_nothing_elsewhere[sessions-older]",
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
    Patch(PAGES, "self.index.pages.get(QUERY) == Page.of_text(query)", "QUERY in self.index.pages", STEPS),
    Patch(PAGES, "index.inputs[self.numbers[source]].add(number)", "pass", STEPS),
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
    Patch(
        PACK,
        "self._arrived += batch.num_rows",
        "pass",
        "native/test_python_aggregates.py::test_a_function_takes_the_records_of_a_split_in_the_order_of_its_batches",
    ),
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
    Patch(SHARD, "if not is_slowest or number in pages.index.inputs[each]", "", STEPS),
    Patch(
        SHARD,
        "or source in blocks or every:",
        "or source in blocks:",
        "native/test_stream_changes.py::test_a_smaller_grace_closes_windows_of_a_source_without_new_rows",
    ),
    Patch(SHARD, "rows or progress or (every and sources)", "rows or progress", STEPS),
    Patch(SHARD, "changed.after[name] - changed.before[name]", "changed.after[name]", STEPS),
    Patch(
        CHANGE_BLOCK,
        "place += rows.num_rows",
        "pass",
        "native/test_change_blocks.py::"
        "test_the_sequence_goes_on_over_blocks_and_begins_above_that_of_the_micro_batch_before",
    ),
    Patch(
        CHANGE_BLOCK,
        "(micro_batch() or 0) << _PLACES",
        "micro_batch() or 0",
        "native/test_change_blocks.py::"
        "test_the_sequence_goes_on_over_blocks_and_begins_above_that_of_the_micro_batch_before",
    ),
    Patch(RETURNED, "range(1, len(of_session) + 1)", "range(len(of_session))", ROWS),
    Patch(
        "_executor/stream/ticks.py",
        "if source and all(",
        "if source and any(",
        CASE.format("1.5-a tick with a value in one of its source columns is of one source-stream"),
    ),
    Patch(
        "_executor/stream/start.py",
        "pages.index.inputs[-1] |= inputs",
        "pass",
        f"{STEPS}[50]",
    ),
    Patch(
        "_executor/stream/query.py",
        "or windows.retention is None",
        "or True",
        CASE.format("6.13-a record is late by the end of the closed session that it would join-stream"),
    ),
    Patch(
        "_executor/stream/query.py",
        ' or plan.options.late != "drop"',
        "",
        CASE.format("1.7-a smaller grace closes at once, before the records of the next micro-batch-stream"),
    ),
    Patch(
        LEFT_OUT,
        "pc.indices_nonzero(reasons.is_valid())",
        "pc.indices_nonzero(reasons.is_null())",
        "native/test_left_out.py::test_the_first_reason_counts",
    ),
    Patch(
        LEFT_OUT,
        "pc.max_element_wise(start, end.cast(pa.int64()), skip_nulls=True)",
        "end.cast(pa.int64())",
        "native/test_left_out_streams.py::test_every_record_is_in_a_window_or_comes_back",
    ),
    Patch(LEFT_OUT, "pc.and_(pc.greater_equal(end, 0), pc.less(start, 0))", "pc.less(start, 0)", ALONE),
    Patch(LEFT_OUT, "pc.greater_equal(end, 0), pc.less(start, 0)", "pc.greater(end, 0), pc.less(start, 0)", ALONE),
    Patch(LEFT_OUT, "pc.if_else(early, difference, end)", "end", ALONE),
    Patch(LEFT_OUT, "end = _floor(end, resolution or 1)", "pass", ALONE),
    Patch(
        LEFT_OUT,
        "pc.if_else(pc.greater(whole, ticks),",
        "pc.if_else(pc.greater_equal(whole, ticks),",
        CASE.format("6.13-a sliding record that only its own window could have taken is refused-driver"),
    ),
    Patch(
        LEFT_OUT,
        'picked(records, judged.column("row"))',
        "records.slice(0, judged.num_rows)",
        "native/test_left_out_streams.py::test_the_numbers_of_rows_continue_over_the_steps_of_a_large_batch",
    ),
]
