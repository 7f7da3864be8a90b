"""Types of text columns: those of `--type`, and those that the first values of a column show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.errors import bad_value, unknown_word
from windrow._arguments.type_names import is_number
from windrow._command.csv_rows import TextFormat

Cast: TypeAlias = "Callable[[pa.Array[Any]], pa.Array[Any]]"

TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "double": pa.float64(),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}
"""The types that `--type` accepts, next to `decimal(p,s)`."""

DECIMAL = "decimal(p,s)"
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_LARGE = pa.decimal128(38, 0)
"""The type of integers beyond 64 bits."""
_POINT = r"^\s*[+-]?(?:\d{1,3}(?:\.\d{3})+(?:,\d*)?|(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*$"
"""A number with points, between its thousands or as its decimal point."""


def type_of(column: str, name: str) -> pa.DataType:
    """The type that `--type` names. Raises `ValueError` for an unknown one."""
    decimal = _DECIMAL.fullmatch(name)
    if decimal is not None and 1 <= int(decimal[1]) <= 38 and int(decimal[2]) <= int(decimal[1]):
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    if name not in TYPES:
        raise unknown_word(f"--type {column}", name, [*TYPES, DECIMAL])
    return TYPES[name]


def number_type(sample: pa.Array[Any], text: TextFormat) -> pa.DataType | None:
    """The type of the numbers in a sample of text: integers, integers beyond 64 bits, or doubles. None for others."""
    for kind in (pa.int64(), _LARGE, pa.float64()):
        if kind == _LARGE and pc.any(pc.match_substring_regex(sample, r"[^\d\s+-]")).as_py():
            continue
        try:
            cast(sample, kind, text)
        except pa.ArrowInvalid:
            continue
        return kind
    return None


def cast(values: pa.Array[Any], kind: pa.DataType, text: TextFormat) -> pa.Array[Any]:
    """The values of text as another type, without white space around them. Raises `ArrowInvalid`."""
    if pa.types.is_string(kind):
        return values
    if is_number(kind):
        values = _with_points(values, text)
    try:
        return values.cast(kind)
    except pa.ArrowInvalid:
        values = pc.utf8_trim_whitespace(values)
        if pa.types.is_integer(kind):
            values = pc.replace_substring_regex(values, r"^\+", "")
        return values.cast(kind)


def number(
    option: str, column: str, kind: pa.DataType, text: TextFormat, allowed: str | None = None, *, or_text: bool = False
) -> Cast:
    """A function that makes numbers, booleans or dates from text. It raises `ValueError` for other text.

    `allowed` describes the values in the message; the default names the type. `or_text` says that text is possible too.
    """

    def converted(values: pa.Array[Any]) -> pa.Array[Any]:
        try:
            return cast(values, kind, text)
        except pa.ArrowInvalid:
            texts = [value for value in values.to_pylist() if value is not None]
            wrong = next(value for value in texts if not _is(value, kind, text))
            source = "that --type names" if option == "--type" else "of the first values"
            kinds = allowed or f"{type_name(kind)}, the type {source}"
            is_pointed = text.decimal != "." or any("." in value for value in texts)
            fix = _fix(column, wrong, kind, text, is_pointed=is_pointed)
            if (option == "--type" or or_text) and fix.startswith(";") and "--type" not in fix:
                fix += f", --type {column}=string keeps all as text"
            raise bad_value(f"{option}: column {column!r}", wrong, kinds + fix) from None

    return converted


def pointed(option: str, column: str, text: TextFormat) -> Cast:
    """A function that gives text of numbers the decimal point that a unit counts with; other text stays as it is.

    It raises `ValueError` for a number with points where `--decimal` names another mark.
    """

    def converted(values: pa.Array[Any]) -> pa.Array[Any]:
        try:
            return _with_points(values, text)
        except pa.ArrowInvalid:
            wrong = values.filter(pc.match_substring_regex(values, _POINT))[0].as_py()
            allowed = "numbers" + _fix(column, wrong, pa.float64(), text)
            raise bad_value(f"{option}: column {column!r}", wrong, allowed) from None

    return converted


def has_points(values: pa.Array[Any], text: TextFormat) -> bool:
    """Whether all values are numbers, but some have points where `--decimal` names another mark."""
    others = values.filter(pc.invert(pc.match_substring_regex(values, _POINT)))
    is_less = len(others) < len(values) - values.null_count
    return text.decimal != "." and is_less and number_type(others, text) is not None


def _with_points(values: pa.Array[Any], text: TextFormat) -> pa.Array[Any]:
    """Numbers with a decimal point instead of another mark. Raises `ArrowInvalid` for one that has points before."""
    if text.decimal == ".":
        return values
    if not text.points and pc.any(pc.match_substring_regex(values, _POINT)).as_py():
        raise pa.ArrowInvalid("points")
    return pc.replace_substring(values, text.decimal, ".")


def type_name(kind: pa.DataType) -> str:
    """The name of a type that `--type` has."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return next((name for name, each in TYPES.items() if each == kind), str(kind))


def _is(value: str, kind: pa.DataType, text: TextFormat) -> bool:
    try:
        cast(pa.array([value], pa.string()), kind, text)
    except pa.ArrowInvalid:
        return False
    return True


def _fix(column: str, wrong: str, kind: pa.DataType, text: TextFormat, *, is_pointed: bool = True) -> str:
    """What reads a value which is not of the type of its column; `is_pointed` says that others have decimal points."""
    if pa.types.is_boolean(kind):
        return " (true and false, or 1 and 0)"
    better = number_type(pa.array([wrong], pa.string()), text)
    if better is not None and better != kind:
        return f"; --type {column}={type_name(better)} reads it"
    plain = plain_numbers(wrong, text.decimal)
    if plain and not is_pointed and re.fullmatch(r"\s*[+-]?\d+,\d+\s*", wrong):
        return f"; --decimal , reads it as {plain[-1]}" + "".join(f", or write {each}" for each in plain[:-1])
    if plain:
        fits = [each for each in plain if _is(each, kind, text)]
        more = "" if fits else _fix(column, plain[0], kind, text)
        return f"; {'' if text.decimal == '.' else 'with --decimal , '}write {' or '.join(fits or plain[:1])}{more}"
    return f"; --null {shlex.quote(wrong)} makes it null"


def plain_numbers(number: str, decimal: str) -> list[str]:
    """How to write a number that has marks between its thousands, or another decimal point than this one."""
    number, plain, other = number.strip(), list[str](), "," if decimal == "." else "."
    for mark, between in (".,", ",."):
        if re.fullmatch(rf"[+-]?\d{{1,3}}(?:\{between}\d{{3}})+(?:\{mark}\d*)?", number):
            plain.append(number.replace(between, "").replace(mark, decimal))
    if re.fullmatch(rf"[+-]?(?:\d+\{other}\d*|\{other}\d+)(?:[eE][+-]?\d+)?", number):
        plain.append(number.replace(other, decimal))
    return plain
