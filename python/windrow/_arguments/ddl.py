"""Types in Spark's words: `"bigint"`, `"array<string>"`, `"n bigint, total double"`; read without Spark."""

from __future__ import annotations

import re

import pyarrow as pa

from windrow._arguments.errors import bad_value, closest

_SIMPLE: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "byte": pa.int8(),
    "smallint": pa.int16(),
    "short": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ltz": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}
_DECIMAL_DIGITS = 38
_DECIMAL = ("decimal", "dec", "numeric")
_NESTED = ("array", "map", "struct")
_SPANS = ("day", "hour", "minute", "second")
_VARYING = ("year", "month")
_LENGTHS = ("char", "character", "varchar")
_WORDS = [*_SIMPLE, *_DECIMAL, *_NESTED, "interval", *_LENGTHS]
_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)+`)|(\w+)|([<>(),:]))")
DEEPEST = 24
"""How many arrays, maps and structs may be nested in each other; Arrow's messages hold sixty levels, a map has two."""

_ALLOWED = 'a type in Spark\'s words, such as "bigint", "array<string>" or "n bigint, total double"'


def arrow_type(argument: str, text: str) -> pa.DataType:
    """The Arrow type that `text` spells: one type, or named fields, which make a struct.

    The time that it takes is in proportion to the length of `text`.

    Raises:
        ValueError: no such type, or one of more than 24 nested arrays, maps and structs.

    >>> print(arrow_type("schema", "decimal(10, 2)"))
    decimal128(10, 2)
    >>> print(arrow_type("schema", "n BIGINT, seen ARRAY<STRING>"))
    struct<n: int64, seen: list<element: string>>
    """
    reader = _Reader(argument, text)
    first, *more = reader.tokens
    alone = not more or more[0] in ("<", "(") or (first.lower() == "interval" and more[0].lower() in _SPANS + _VARYING)
    kind = reader.type() if alone else reader.fields("")
    if reader.tokens[reader.place :]:
        raise reader.wrong(f"{reader.tokens[reader.place]!r} cannot follow {reader.tokens[reader.place - 1]!r}")
    return kind


class _Reader:
    """Reads tokens from left to right."""

    def __init__(self, argument: str, text: str) -> None:
        self._argument, self._text = argument, text
        self.tokens: list[str] = []
        self.place = 0
        self._depth = 0
        position, end = 0, len(text.rstrip())
        while position < end:
            token = _TOKEN.match(text, position)
            if token is None:
                raise self.wrong(f"{text[position:].lstrip()[0]!r} is not part of a type")
            self.tokens.append(token[0].strip())
            position = token.end()
        if not self.tokens:
            raise self.wrong("it is empty")

    def wrong(self, hint: str) -> ValueError:
        return bad_value(self._argument, self._text, f"{_ALLOWED} ({hint})")

    def _next(self, *expected: str) -> str:
        token = self.tokens[self.place] if self.place < len(self.tokens) else ""
        if not token or (expected and token not in expected):
            after = f"after {self.tokens[self.place - 1]!r}" if self.place else "at the start"
            wanted = " or ".join(map(repr, expected)) or "a name or type"
            raise self.wrong(f"{wanted} is missing {after}")
        if not expected and token in "<>(),:":
            raise self.wrong(f"a name or type is missing before {token!r}")
        self.place += 1
        return token

    def _at(self, *tokens: str) -> bool:
        return self.place < len(self.tokens) and self.tokens[self.place].lower() in tokens

    def fields(self, closing: str) -> pa.DataType:
        """`name type, name: type not null, ...`, up to the closing token, which stays."""
        fields: dict[str, pa.Field[pa.DataType]] = {}
        self._deepen()
        while True:
            name = self._next()
            name = name[1:-1].replace("``", "`") if name.startswith("`") else name
            if self._at(":"):
                self.place += 1
            kind, nullable = self.type(), True
            if self._at("not"):
                self.place += 1
                if self._next().lower() != "null":
                    raise self.wrong("NULL is missing after NOT")
                nullable = False
            if name in fields:
                raise self.wrong(f"each name once; {name!r} appears twice")
            fields[name] = pa.field(name, kind, nullable)
            if not self._at(","):
                break
            self.place += 1
        if closing and not self._at(closing):
            raise self.wrong(f"{closing!r} is missing after {self.tokens[self.place - 1]!r}")
        self._depth -= 1
        return pa.struct(list(fields.values()))

    def type(self) -> pa.DataType:
        """One type."""
        name = self._next().lower()
        if name in _SIMPLE:
            return _SIMPLE[name]
        if name in _DECIMAL:
            return self._decimal()
        if name == "interval":
            return self._interval()
        if name in _LENGTHS:
            raise self.wrong(f"{name!r} is a type whose length is never checked: write string")
        if name not in _NESTED:
            close = closest(name, _WORDS)
            raise self.wrong(f"{name!r} is not a type{f', did you mean {close!r}?' if close else ''}")
        self._next("<")
        kind: pa.DataType
        if name == "struct":
            kind = self.fields(">")
            self._next(">")
            return kind
        self._deepen()
        if name == "array":
            kind = pa.list_(pa.field("element", self.type()))
        else:
            key = self.type()
            self._next(",")
            kind = pa.map_(key, self.type())
        self._next(">")
        self._depth -= 1
        return kind

    def _deepen(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self.wrong(f"at most {DEEPEST} arrays, maps and structs are nested in each other")

    def _interval(self) -> pa.DataType:
        """`interval day to second` and what lies within: all are one type of Arrow."""
        if self._at(*_VARYING):
            raise self.wrong("an interval of months or years has no fixed length")
        first = last = self._next().lower() if self._at(*_SPANS) else ""
        if first and self._at("to"):
            self.place += 1
            last = self._next().lower()
        if first not in _SPANS or last not in _SPANS[_SPANS.index(first) :]:
            raise self.wrong("an interval goes from a unit to a shorter one, such as interval day to second")
        return pa.duration("us")

    def _decimal(self) -> pa.DataType:
        precision, scale = 10, 0
        if self._at("("):
            self.place += 1
            precision = self._digits()
            if self._next(",", ")") == ",":
                scale = self._digits()
                self._next(")")
        if not (1 <= precision <= _DECIMAL_DIGITS and scale <= precision):
            raise self.wrong("a decimal has 1 to 38 digits, and no more of them after the point")
        return pa.decimal128(precision, scale)

    def _digits(self) -> int:
        token = self._next()
        if not token.isdecimal():
            raise self.wrong(f"{token!r} is not a number of digits")
        return int(token) if len(token) <= len("38") else _DECIMAL_DIGITS + 1
