"""Arrow data that is not valid: indices and offsets that point beyond their values, and text that is no UTF-8."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

from ..scenes import all_at

SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="0 seconds")
SLIDING = wr.SlidingWindows.with_time_difference("5 minutes")
ASTRAY = 'column "v": it has an index or an offset that points beyond its values'
NO_TEXT = 'column "v": .*not UTF-8; allowed: .*binary'


def rows(column: pa.Array[Any]) -> pa.Table:
    """One session of one user."""
    times = pa.array(all_at(*range(len(column))), pa.timestamp("us"))
    return pa.table({"user": [1] * len(column), "ts": times, "v": column})


def sessions(data: Any, windows: Any = SESSIONS, key: str = "user") -> Any:
    return wr.group_by(data, key, time="ts").windowed_by(windows)


def offsets(*numbers: int | None, kind: pa.DataType = pa.int32()) -> Any:  # noqa: B008
    return pa.array(numbers, kind).buffers()[1]


SHAPES = ["dictionary", "struct", "list", "list of lists", "map", "string", "binary"]


def pointing(shape: str, at: int) -> pa.Array[Any]:
    """Three rows, of which the second points to this value; only some values exist."""
    values = pa.array(["a", "b", "c"])
    own = offsets(0, at, 2, 3)
    if shape == "dictionary":
        return pa.DictionaryArray.from_arrays(pa.array([0, at, 2], pa.int32()), values, safe=False)
    if shape == "struct":
        return pa.StructArray.from_arrays([pointing("dictionary", at)], ["name"])
    if shape in ("binary", "string"):
        kind: Any = pa.string() if shape == "string" else pa.binary()
        return pa.Array.from_buffers(kind, 3, [None, own, pa.py_buffer(b"abc")])
    if shape == "map":
        kind = pa.map_(pa.string(), pa.string())
        entries = pa.StructArray.from_arrays([values, values], fields=[kind.key_field, kind.item_field])
        return pa.Array.from_buffers(kind, 3, [None, own], children=[entries])
    if shape == "list of lists":
        return pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), pointing("list", at))
    return pa.Array.from_buffers(pa.list_(pa.string()), 3, [None, own], children=[values])


def of_bytes(shape: str) -> pa.Array[Any]:
    """Three strings, of which the second is no text."""
    kind: Any = pa.large_binary() if shape == "large_string" else pa.binary()
    buffers = pa.array([b"ann", b"\xff", b"bob"], kind).buffers()
    plain = pa.Array.from_buffers(pa.large_string() if shape == "large_string" else pa.string(), 3, buffers)
    if shape == "dictionary":
        return pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), plain)
    if shape == "struct":
        return pa.StructArray.from_arrays([plain], ["name"])
    return pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), plain) if shape == "list" else plain


def views(large: bool, codes: list[int], places: list[int], sizes: list[int]) -> Any:
    """Three lists of names by dictionary code; nothing of it need be valid."""
    names = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(["a", "b", "c"]), safe=False)
    buffers = [offsets(*numbers, kind=pa.int64() if large else pa.int32()) for numbers in (places, sizes)]
    kind = (pa.large_list_view if large else pa.list_view)(names.type)
    return pa.Array.from_buffers(kind, 3, [None, *buffers], children=[names])


VALID = {"codes": [0, 1, 2], "places": [2, 0, 1], "sizes": [1, 1, 1]}
BROKEN = [
    {"codes": [0, 9, 2]},
    {"places": [0, 3, 1]},
    {"places": [0, -1, 1]},
    {"sizes": [1, 1, 3]},
    {"sizes": [1, -1, 1]},
]
TEXTS = ["string", "large_string", "dictionary", "struct", "list"]
RUNS = pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int32()), pa.array(["a"]), safe=False)
LISTS = pa.array([["a"]])
INVALID: dict[str, tuple[pa.Array[Any], str]] = {
    **{f"{shape} at {at}": (pointing(shape, at), ASTRAY) for shape in SHAPES for at in (-1, 5, 9)},
    **{f"view of {broken}": (views(False, **(VALID | broken)), ASTRAY) for broken in BROKEN},
    **{f"large view of {broken}": (views(True, **(VALID | broken)), ASTRAY) for broken in BROKEN},
    "dictionary of lists": (pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int8()), LISTS, safe=False), ASTRAY),
    "runs": (
        pa.Array.from_buffers(
            pa.run_end_encoded(pa.int32(), RUNS.type), 3, [None], children=[pa.array([1, 3], pa.int32()), RUNS]
        ),
        ASTRAY,
    ),
    **{f"bytes in a {shape}": (of_bytes(shape), NO_TEXT) for shape in TEXTS},
}


@pytest.mark.parametrize("name", INVALID)
def test_values_that_are_not_valid_are_an_error(name: str) -> None:
    column, error = INVALID[name]
    kept = wr.aggregate(str, lambda held, row: held, lambda a, b: a, schema="string", columns=["v"])
    for table in (rows(column), pa.concat_tables([rows(column)] * 2)):
        for aggregate in (wr.first("v"), wr.collect_list("v"), wr.reduce("v", lambda one, other: other), kept):
            with pytest.raises(ValueError, match=error):
                sessions(table).agg(v=aggregate)
    if error is ASTRAY:
        with pytest.raises(ValueError, match=error):
            sessions(rows(column)).agg(v=wr.count("v"))


@pytest.mark.parametrize(
    ("column", "error"),
    [
        *((pointing(shape, at), ASTRAY) for shape in ("dictionary", "struct") for at in (-1, 3)),
        *(
            (pointing(shape, at), ASTRAY) for shape in ("string", "binary") for at in (-1, 4)
        ),  # an offset may be the end
        *((of_bytes(shape), NO_TEXT) for shape in TEXTS[:4]),
        *((views(large, **(VALID | broken)), ASTRAY) for large in (False, True) for broken in BROKEN),
        INVALID["runs"],
        INVALID["dictionary of lists"],
    ],
)
def test_keys_that_are_not_valid_are_an_error(column: pa.Array[Any], error: str) -> None:
    for windows in (SESSIONS, SLIDING):
        with pytest.raises(ValueError, match=error):
            sessions(rows(column), windows, "v").count()


@pytest.mark.parametrize("shape", SHAPES)
def test_values_at_the_bounds_and_no_rows_are_valid(shape: str) -> None:
    for at in (0, 2):
        column = pointing(shape, at)
        column.validate(full=True)
        assert sessions(rows(column)).agg(v=wr.collect_list("v"))["v"].to_pylist() == [column.to_pylist()]
    for start in range(4):
        none = rows(column).slice(start, 0)
        assert sessions(none).agg(v=wr.first("v")).num_rows == 0
        assert sessions(pa.Table.from_batches([rows(column).to_batches()[0].slice(start, 0)])).count().num_rows == 0


@pytest.mark.parametrize("large", [False, True])
def test_views_that_are_valid_are_values(large: bool) -> None:
    table = pa.concat_tables([rows(views(large, **VALID))] * 2)
    (found,) = sessions(table).agg(v=wr.collect_set("v")).to_pylist()
    assert sorted(found["v"]) == [["a"], ["b"], ["c"]]


def test_only_rows_that_are_read_are_followed() -> None:
    codes = [pointing(shape, 9) for shape in ("dictionary", "struct")]
    for column in (
        *codes,
        *(of_bytes(shape) for shape in TEXTS if shape != "dictionary"),
    ):  # its values are of all rows
        for part in (rows(column).slice(0, 1), rows(column).slice(2, 1)):
            found = sessions(part).agg(n=wr.count("v"), first=wr.first("v"))
            assert found["n"].to_pylist() == [1], column.type


def test_what_lies_under_a_null_does_not_count() -> None:
    codes = pa.Array.from_buffers(pa.int32(), 3, [pa.py_buffer(b"\x05"), offsets(0, 9, 0)])
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["a"]), safe=False)
    assert sessions(rows(column)).agg(v=wr.collect_list("v"))["v"].to_pylist() == [["a", "a"]]
    hidden = pa.Array.from_buffers(pa.string(), 2, [pa.py_buffer(b"\2"), offsets(0, 1, 2), pa.py_buffer(b"\xffa")])
    found = sessions(rows(hidden), key="v").count()
    assert found["v"].to_pylist() == ["a"]
    assert wr.counters(found)["null_keys"] == 1


def test_elements_that_no_list_shows_are_looked_at_only_where_they_are_unpacked() -> None:
    names = pa.Array.from_buffers(pa.string(), 3, [None, offsets(0, 1, 2, 3), pa.py_buffer(b"ab\xff")])
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 9], pa.int32()), pa.array(["a", "b"]), safe=False)
    for inner in (names, codes):
        view = pa.Array.from_buffers(
            pa.list_view(inner.type), 3, [None, offsets(1, 0, 1), offsets(1, 1, 1)], children=[inner]
        )
        plain = pa.Array.from_buffers(pa.list_(inner.type), 3, [None, offsets(0, 1, 1, 2)], children=[inner])
        for column in (view, plain):
            if inner is names:
                assert sessions(rows(column)).agg(v=wr.last("v"))["v"].to_pylist() == [["b"]]
                continue
            with pytest.raises(ValueError, match=ASTRAY):
                sessions(rows(column)).agg(v=wr.last("v"))


def test_a_character_that_is_cut_in_two_is_no_text() -> None:
    halves = pa.Array.from_buffers(pa.string(), 2, [None, offsets(0, 1, 2), pa.py_buffer("ä".encode())])
    with pytest.raises(ValueError, match="not UTF-8"):
        sessions(rows(halves), key="v").count()


def dictionary(*codes: int, values: Any = None) -> pa.Array[Any]:
    """A dictionary with any codes."""
    indices = pa.array(codes, pa.int32())
    return pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]) if values is None else values, safe=False)


BEYOND = {
    **{f"{shape} at {at}": pointing(shape, at) for shape in ("dictionary", "struct") for at in (-1, 9)},
    "list": pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), dictionary(0, 9, 1)),
    "of views": dictionary(0, 9, 1, values=pa.array(["a", "b"], pa.string_view())),
    "of lists": dictionary(0, 9, 1, values=LISTS),
    "of extensions": dictionary(0, 9, 1, values=pa.array([b"0" * 16], pa.uuid())),
    "of dictionaries": dictionary(0, 1, 0, values=dictionary(0, 9)),
    "runs": INVALID["runs"][0],
}
"""Codes beyond their dictionaries, in each way to have such."""
NAMED = r'column "(a\.)?v": it has an index or an offset that points beyond its values'


@pytest.mark.parametrize("name", BEYOND)
def test_codes_beyond_a_dictionary_are_an_error_in_a_cogroup(name: str) -> None:
    column = BEYOND[name]
    same, one = rows(column), wr.group_by(rows(column), "user", time="ts")
    both = wr.cogroup(a=one, b=wr.group_by(same, "user", time="ts")).windowed_by(SESSIONS)
    by_code = [wr.group_by(same, "v", time="ts")] * 2
    for query in (
        lambda: both.agg(v=wr.first("a.v")),
        lambda: both.to_reader(v=wr.first("a.v")).read_all(),
        lambda: both.advance(None, to=all_at(60)[0], v=wr.first("a.v")),
        lambda: both.with_columns(n=wr.count()),
        lambda: wr.cogroup(a=by_code[0], b=by_code[1]).windowed_by(SESSIONS).count(),
    ):
        with pytest.raises(ValueError, match=f"^{NAMED}"):
            query()


@pytest.mark.parametrize("name", BEYOND)
def test_codes_beyond_a_dictionary_are_an_error_in_a_driver(name: str) -> None:
    table = rows(BEYOND[name])

    def by_source(data: Any) -> Any:
        return wr.group_by(data, "user", time="ts", source="v").windowed_by(SESSIONS).count()

    def left_out(data: Any) -> Any:
        return sessions(data).left_out("emit", columns=["v"]).agg(n=wr.count())

    for definition in (lambda data: sessions(data).agg(v=wr.first("v")), lambda data: sessions(data, key="v").count()):
        for length in (None, 2):
            with pytest.raises(ValueError, match=f"^{NAMED}"):
                StreamDriver(definition, table.schema).pipe_batch(table, rows=length)
    for definition in (by_source, left_out):
        with pytest.raises((ValueError, TypeError), match="'v'|" + NAMED):
            StreamDriver(definition, table.schema).pipe_batch(table)

    def both(a: Any, b: Any) -> Any:
        inputs = {"a": wr.group_by(a, "user", time="ts"), "b": wr.group_by(b, "user", time="ts")}
        return wr.cogroup(**inputs).windowed_by(SESSIONS).agg(v=wr.first("a.v"))

    driver = StreamDriver(both, {"a": table.schema, "b": table.schema})
    for options in ({"input": "a"}, {"input_column": "v"}):
        with pytest.raises(ValueError, match=f"^{NAMED}"):
            driver.pipe_batch(table, **options)  # type: ignore[arg-type]


def test_codes_beyond_a_dictionary_are_an_error_in_rows_of_records_and_in_explanations() -> None:
    table = rows(dictionary(0, 9, 1)).set_column(1, "ts", pa.nulls(3, pa.timestamp("us")))
    with pytest.raises(ValueError, match=f"^{NAMED}"):
        sessions(table).left_out("emit", columns=["v"]).agg(n=wr.count())
    with pytest.raises(ValueError, match=f"^{NAMED}"):
        wr.explain_record(sessions(rows(dictionary(0, 9, 1)), key="v"), "a", all_at(0)[0])
    with pytest.raises(TypeError, match="^time: column 'v' has type dictionary"):
        wr.group_by(table, "user", time="v")


def test_a_driver_takes_dictionaries_of_extensions_of_several_inputs() -> None:
    column = dictionary(0, 1, 0, values=pa.array([b"0" * 16, b"1" * 16], pa.uuid()))
    table = rows(column).append_column("of", pa.array(["a", "b", "a"]))

    def both(a: Any, b: Any) -> Any:
        inputs = {"a": wr.group_by(a, "user", time="ts"), "b": wr.group_by(b, "user", time="ts")}
        return wr.cogroup(**inputs).windowed_by(SESSIONS).agg(v=wr.collect_list("a.v"), n=wr.count())

    driver = StreamDriver(both, {"a": table.schema, "b": table.schema})
    driver.pipe_batch(table, input_column="of")
    (final,) = driver.finish()
    assert (len(final.values["v"]), final.values["n"]) == (2, 3)


def test_a_driver_takes_text_only() -> None:
    table = rows(of_bytes("string"))
    driver = StreamDriver(lambda data: sessions(data, key="v").count(), table.schema)
    with pytest.raises(ValueError, match=NO_TEXT):
        driver.pipe_batch(table)
