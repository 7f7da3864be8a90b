"""Faults of plans, as texts of their files."""

from __future__ import annotations

from .patch import Patch

CASE = "conformance/test_cases.py::test_a_case_gives_the_windows_of_its_rule[{}]"
LENGTHS = "native/test_nanosecond_lengths.py::test_"
LEFT_OUT = (
    "native/test_left_out.py::"
    "test_each_record_without_a_window_comes_back_with_its_reason_and_the_window_it_would_have_had"
)

PATCHES = [
    Patch(
        "_plan/length_unit.py",
        "* 1_000)",
        "* 1_001)",
        f"{LENGTHS}sums_over_a_length_are_those_of_brute_force[1]",
    ),
    Patch(
        "_plan/length_unit.py",
        ', ("funnel", "within"))',
        ")",
        f"{LENGTHS}the_lengths_of_rules_and_of_steps_count_nanoseconds",
    ),
    Patch(
        "_plan/length_unit.py",
        '("grace", "until", "every")',
        '("grace", "until")',
        f"{LENGTHS}updates_come_every_few_nanoseconds",
    ),
    Patch(
        "_plan/spec.py",
        "grace=self.grace or 0, late=self.late",
        "grace=0, late=self.late",
        CASE.format("1.7-closed windows stay closed under a larger grace-driver"),
    ),
    Patch(
        "_plan/spec.py",
        'replace(self, overflow="null")',
        "self",
        "native/test_state_parts.py::test_a_result_that_does_not_fit_is_null_in_a_look_at_the_state[error-sessions]",
    ),
    Patch(
        "_plan/spec.py",
        "end=self.end and column, tie=None",
        "tie=None",
        "native/test_simulation.py::test_streams_whose_tasks_and_drivers_die_keep_the_laws",
    ),
    Patch(
        "_plan/spec.py",
        "end=self.end and column, tie=None",
        "end=self.end and column",
        CASE.format("5.2-of equal orders the first input comes first, whatever the ties-stream"),
    ),
    Patch(
        "_plan/spec.py",
        "if value or name not in _IF_SET",
        "if True",
        "native/test_vectors.py::test_a_query_has_the_text_of_its_checkpoints[close]",
    ),
    Patch("_plan/plan.py", " or self.left_out is not None", "", LEFT_OUT),
    Patch("_plan/plan.py", '"late_by", "stream_time", *', '"stream_time", "late_by", *', LEFT_OUT),
    Patch(
        "_plan/limits.py",
        '("emit=update", "rules", "stream")',
        '("emit=update", "rules", "advance")',
        "native/test_session_rules.py::test_a_stream_refuses_updates_a_retention_and_an_end_without_rules",
    ),
    Patch(
        "_plan/limits.py",
        '"rules=None", "closing"',
        '"rules", "closing"',
        "native/test_session_rules.py::test_a_stream_refuses_updates_a_retention_and_an_end_without_rules",
    ),
    Patch(
        "_plan/plan.py",
        '"until": self.windows.retention}',
        '"until": None}',
        CASE.format(
            "1.2-a late group leaves a closed session that it touches, "
            "one that reaches the close time revives it-stream"
        ),
    ),
    Patch(
        "_plan/plan.py",
        '"count": len(self.origins.names)',
        '"count": 2',
        "native/test_cogroup.py::test_aggregates_of_inputs_are_those_of_their_records_in_one_input[int8-session]",
    ),
    Patch(
        "_plan/flat.py",
        "column.flatten() if name == WINDOW else [column]",
        "reversed(column.flatten()) if name == WINDOW else [column]",
        "native/test_flat.py::test_two_columns_stand_where_the_struct_was[False-False-sessions]",
    ),
    Patch(
        "_plan/flat.py",
        "with_nullable(field.nullable) for",
        "with_nullable(False) for",
        "native/test_flat.py::test_bounds_may_be_null_where_a_window_may",
    ),
    Patch(
        "_plan/sequence.py",
        "first + step * row",
        "first + row",
        "native/test_change_blocks.py::test_in_a_batch_all_rows_have_one_sequence",
    ),
    Patch(
        "_plan/earlier_types.py",
        "kind.scale == than.scale",
        "kind.scale >= than.scale",
        "native/test_widened_days.py::test_a_decimal_is_wider_with_more_digits_and_the_same_scale",
    ),
    Patch(
        "_plan/earlier_types.py",
        "wide[0] <= narrow[0]",
        "True",
        "native/test_widened_days.py::test_an_integer_is_wider_than_those_whose_values_it_has",
    ),
    Patch(
        "_plan/casts.py",
        '{"s": 1e11',
        '{"s": 1e12',
        "native/test_time_casts.py::test_the_cast_of_a_number_is_chosen_by_its_size",
    ),
    Patch(
        "_plan/computed.py",
        "if not parts.names_of(part):",
        "if True:",
        "native/test_computed.py::test_parts_that_are_asked_for_are_computed_once_and_names_do_not_collide",
    ),
    Patch(
        "_plan/computed.py",
        "if not counted:",
        "if True:",
        "native/test_min_samples.py::test_equal_counts_are_computed_once",
    ),
    Patch(
        "_plan/observation.py",
        "self._spark, self._counters = None, dict(counters)",
        "self._spark, self._counters = None, self._counters or dict(counters)",
        "native/test_observation.py::test_each_call_is_observed_again",
    ),
    Patch(
        "_plan/open_table.py",
        "name.casefold() in RESERVED",
        "name in RESERVED",
        "native/test_advance_errors.py::test_wrong_arguments_are_refused_at_the_call",
    ),
    Patch(
        "_plan/input.py",
        '(?<!aggregate )"',
        '"',
        "native/test_condition_casts.py::test_every_other_argument_names_the_path_of_a_field",
    ),
]
