"""Times of text in a format of `strptime`, with fractions of a second and zones."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute

from windrow._arguments.errors import bad_value

pc: Any = pyarrow.compute
ARGUMENT = "--time-format"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ZONES = {"UTC": 0, "GMT": 0, "UT": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5}
_ZONES |= {"MST": -7, "MDT": -6, "PST": -8, "PDT": -7}
"""Hours from UTC of the zones that RFC 5322 names. Other abbreviations mean several zones."""

_DIRECTIVES = {
    "Y": r"(?P<Y>\d{4})",
    "y": r"(?P<y>\d{2})",
    "m": r"(?P<m>\d{1,2})",
    "b": r"(?P<b>[[:alpha:]]{3,9})\.?",
    "d": r" ?(?P<d>\d{1,2})",
    "a": r"[[:alpha:]]+\.?",
    "H": r" ?(?P<H>\d{1,2})",
    "I": r" ?(?P<I>\d{1,2})",
    "p": r"(?P<p>[AaPp])\.?[Mm]\.?",
    "M": r"(?P<M>\d{1,2})",
    "S": r"(?P<S>\d{1,2})",
    "f": r"(?P<f>\d{1,9})",
    "z": r"(?P<z>Z|[+-]\d{2}(?::?\d{2})?)",
    "Z": r"(?P<Z>[[:alpha:]]+)",
    "%": "%",
}
_SAME = {"e": "d", "B": "b", "h": "b", "A": "a", "k": "H", "l": "I", "P": "p"}
_COMBINED = {"T": "%H:%M:%S", "R": "%H:%M", "F": "%Y-%m-%d", "D": "%m/%d/%y", "r": "%I:%M:%S %p"}
_DIRECTIVE = re.compile("%(.?)")


@dataclass(frozen=True)
class TimeFormat:
    """A format of `strptime`.

    Attributes:
        text: the format.
    """

    text: str

    def __post_init__(self) -> None:
        """Raises `ValueError` for a directive that is unknown or repeated, and for a format without a date."""
        directives = _DIRECTIVE.findall(self._plain)
        for directive in directives:
            if _SAME.get(directive, directive) not in _DIRECTIVES:
                each = ", ".join(f"%{one}" for one in sorted({*_DIRECTIVES, *_SAME, *_COMBINED}))
                hint = "; seconds since 1970 are numbers: --time-unit s" if directive == "s" else ""
                raise bad_value(ARGUMENT, self.text, f"the directives {each}, not %{directive}{hint}")
        twice = [name for name in self._names if self._names.count(name) > 1]
        if twice:
            raise bad_value(ARGUMENT, self.text, f"each directive once, and %{twice[0]} appears twice")
        groups = set(self._names)
        if not (groups & {"m", "b"} and "d" in groups and groups & {"Y", "y"}):
            raise bad_value(ARGUMENT, self.text, "a format with year, month and day, such as '%d/%m/%Y %H:%M'")
        if "I" in groups and "p" not in groups:
            raise bad_value(
                ARGUMENT, self.text, "%p with %I, whose hours are ambiguous without it; or %H, which has 24 hours"
            )

    @property
    def has_zone(self) -> bool:
        """Whether its times have a zone."""
        return bool({"z", "Z"} & set(self._names))

    @property
    def _plain(self) -> str:
        """The format with single directives."""
        return _DIRECTIVE.sub(lambda match: _COMBINED.get(match[1], match[0]), self.text)

    @property
    def _names(self) -> list[str]:
        return re.findall(r"\(\?P<(\w)>", self._pattern)

    @property
    def _pattern(self) -> str:
        """The regular expression of the format, in the syntax of RE2."""
        pattern, place = "", 0
        for match in _DIRECTIVE.finditer(self._plain):
            pattern += _literal(self._plain[place : match.start()])
            pattern += _DIRECTIVES.get(_SAME.get(match[1], match[1]), "")
            place = match.end()
        return rf"^\s*{pattern}{_literal(self._plain[place:])}\s*$"

    def type_of(self, sample: pa.Array[Any]) -> pa.DataType:
        """The timestamp type: in nanoseconds if a value of the sample has more than six digits of a second."""
        unit: Any = "us"
        if "f" in self._names:
            digits: Any = pc.max(pc.utf8_length(pc.struct_field(self._fields(sample), "f"))).as_py()
            unit = "ns" if (digits or 0) > 6 else "us"
        return pa.timestamp(unit, "UTC" if self.has_zone else None)

    def times(self, column: str, values: pa.Array[Any], kind: pa.DataType) -> Any:
        """The times of text. Raises `ValueError` for text that the format does not fit."""
        fields = self._fields(values)
        wrong: Any = pc.filter(values, pc.and_(pc.is_valid(values), pc.is_null(fields)))
        if len(wrong):
            raise self._error(column, wrong[0].as_py())
        parts = {name: pc.struct_field(fields, name) for name in self._names}
        typed: Any = kind
        naive, digits = pa.timestamp(typed.unit), 9 if typed.unit == "ns" else 6
        iso = self._iso(column, values, parts, digits)
        try:
            local = iso.cast(naive)
        except pa.ArrowInvalid:
            texts = zip(values.to_pylist(), iso.to_pylist(), strict=True)
            wrong = (each for each in texts if each[1] is not None and not is_time(each[1], naive))
            text, time = next(wrong, ("", ""))
            is_far = is_beyond(time, naive)
            raise (beyond(self._argument, column, text) if is_far else self._error(column, text)) from None
        if not self.has_zone:
            return local
        ticks = pc.multiply(self._offset(column, parts), 10**digits)
        return pc.subtract(local.cast(pa.int64()), ticks).cast(naive).cast(kind)

    def _error(self, column: str, text: str) -> ValueError:
        allowed = "times in this format, on days and at hours that exist, with nanoseconds only if the first ones do"
        return bad_value(f"{self._argument}: column {column!r}", text, allowed)

    @property
    def _argument(self) -> str:
        return f"{ARGUMENT} {self.text!r}"

    def _fields(self, values: pa.Array[Any]) -> Any:
        return pc.extract_regex(values.cast(pa.string()), self._pattern)

    def _iso(self, column: str, values: pa.Array[Any], parts: dict[str, Any], digits: int) -> Any:
        """The times as text in ISO 8601, without a zone, with so many digits of a second."""
        year = parts.get("Y")
        if year is None:
            short = parts["y"].cast(pa.int64())
            year = pc.add(short, pc.if_else(pc.less(short, 69), 2000, 1900)).cast(pa.string())
        month = parts.get("m")
        if month is None:
            name = pc.utf8_lower(pc.utf8_slice_codeunits(parts["b"], 0, 3))
            place: Any = pc.index_in(name, pa.array(_MONTHS))
            unknown: Any = pc.filter(values, pc.and_(pc.is_valid(name), pc.is_null(place)))
            if len(unknown):
                raise self._error(column, unknown[0].as_py())
            month = pc.add(place, 1).cast(pa.string())
        hour = parts.get("H")
        if "I" in parts:
            twelve = parts["I"].cast(pa.int64())
            is_hour = pc.and_(pc.greater(twelve, 0), pc.less(twelve, 13))
            noon = pc.if_else(pc.equal(pc.utf8_lower(parts["p"]), "p"), 12, 0)
            full = pc.add(pc.if_else(pc.equal(twelve, 12), 0, twelve), noon)
            hour = pc.if_else(is_hour, full, 99).cast(pa.string())
        month, day, hour, minute, second = (
            pa.scalar("00") if part is None else pc.utf8_lpad(part, 2, "0")
            for part in (month, parts["d"], hour, parts.get("M"), parts.get("S"))
        )
        date: Any = pc.binary_join_element_wise(year, month, day, "-")
        time: Any = pc.binary_join_element_wise(hour, minute, second, ":")
        whole: Any = pc.binary_join_element_wise(date, time, " ")
        if "f" not in parts:
            return whole
        return pc.binary_join_element_wise(whole, pc.utf8_rpad(parts["f"], digits, "0"), ".")

    def _offset(self, column: str, parts: dict[str, Any]) -> Any:
        """Seconds from UTC."""
        if "z" in parts:
            digits: Any = pc.replace_substring_regex(parts["z"], r"^Z$", "+0000")
            digits = pc.utf8_rpad(pc.replace_substring(digits, ":", ""), 5, "0")
            hours, minutes = (pc.utf8_slice_codeunits(digits, *cut).cast(pa.int64()) for cut in ((1, 3), (3, 5)))
            sign = pc.if_else(pc.starts_with(digits, "-"), -1, 1)
            return pc.multiply(sign, pc.add(pc.multiply(hours, 3600), pc.multiply(minutes, 60)))
        names = pc.utf8_upper(parts["Z"])
        place: Any = pc.index_in(names, pa.array(list(_ZONES)))
        unknown: Any = pc.filter(names, pc.and_(pc.is_valid(names), pc.is_null(place)))
        if len(unknown):
            allowed = f"%Z for {', '.join(_ZONES)}, and column {column!r} has {unknown[0].as_py()!r}, which may mean "
            raise bad_value(ARGUMENT, self.text, f"{allowed}several zones: write offsets such as +0200 and %z")
        return pc.multiply(pc.take(pa.array(list(_ZONES.values()), pa.int64()), place), 3600)


def _literal(text: str) -> str:
    """Text between directives; white space fits any white space."""
    return r"\s+".join(re.escape(part) for part in re.split(r"\s+", text))


def is_time(text: str, kind: pa.DataType) -> bool:
    """Whether text in ISO 8601 is a time of this type."""
    try:
        pa.scalar(text, pa.string()).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def is_beyond(text: str, kind: Any) -> bool:
    """Whether text in ISO 8601, which is no time of this type, is a time beyond the range of its nanoseconds."""
    return kind.unit == "ns" and is_time(re.sub(r"(\.\d{6})\d+", r"\1", text), pa.timestamp("us", kind.tz))


def beyond(argument: str, column: str, got: str | int) -> ValueError:
    """A time, as text or in its own unit, is beyond the range of the nanoseconds that others have."""
    fix = f"; --null {shlex.quote(got)} makes it null" if isinstance(got, str) else ""
    allowed = f"times from 1677-09-21 to 2262-04-11, as other times have nanoseconds{fix}"
    return bad_value(f"{argument}: column {column!r}", got, allowed)
