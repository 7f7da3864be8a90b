"""Types in Spark's words: `"bigint"`, `"array<string>"`, `"n bigint, total double"`; read without Spark."""

from __future__ import annotations

import re

import pyarrow as pa

from windrow.errors import bad_value, closest

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
}
_DECIMAL = ("decimal", "dec", "numeric")
_NESTED = ("array", "map", "struct")
_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)+`)|(\w+)|([<>(),:]))")
_ALLOWED = 'a type in Spark\'s words, such as "bigint", "array<string>" or "n bigint, total double"'


def arrow_type(argument: str, text: str) -> pa.DataType:
    """The Arrow type that `text` spells: one type, or named fields, which make a struct.

    Raises:
        ValueError: no such type.

    >>> print(arrow_type("schema", "decimal(10, 2)"))
    decimal128(10, 2)
    >>> print(arrow_type("schema", "n BIGINT, seen ARRAY<STRING>"))
    struct<n: int64, seen: list<element: string>>
    """
    reader = _Reader(argument, text)
    alone = len(reader.tokens) == 1 or (len(reader.tokens) > 1 and reader.tokens[1] in ("<", "("))
    found = reader.type() if alone else reader.fields("")
    if reader.tokens[reader.place :]:
        raise reader.wrong(f"something else than {reader.tokens[reader.place]!r} there")
    return found


class _Reader:
    """Reads tokens from left to right."""

    def __init__(self, argument: str, text: str) -> None:
        self._argument, self._text = argument, text
        self.tokens: list[str] = []
        self.place = 0
        position = 0
        while text[position:].strip():
            token = _TOKEN.match(text, position)
            if token is None:
                raise self.wrong("letters, digits and <>(),: only")
            self.tokens.append(token[0].strip())
            position = token.end()
        if not self.tokens:
            raise self.wrong("a type")

    def wrong(self, hint: str) -> ValueError:
        return bad_value(self._argument, self._text, f"{_ALLOWED} ({hint})")

    def _next(self, *expected: str) -> str:
        token = self.tokens[self.place] if self.place < len(self.tokens) else ""
        if not token or (expected and token not in expected):
            raise self.wrong(" or ".join(expected) + " after what comes first" if expected else "a type at the end")
        self.place += 1
        return token

    def _at(self, *tokens: str) -> bool:
        return self.place < len(self.tokens) and self.tokens[self.place].lower() in tokens

    def fields(self, closing: str) -> pa.DataType:
        """`name type, name: type not null, ...`, up to the closing token, which stays."""
        fields = []
        while True:
            name = self._next()
            name = name[1:-1].replace("``", "`") if name.startswith("`") else name
            if self._at(":"):
                self.place += 1
            kind, nullable = self.type(), True
            if self._at("not"):
                self.place += 1
                if self._next().lower() != "null":
                    raise self.wrong("NOT NULL")
                nullable = False
            fields.append(pa.field(name, kind, nullable))
            if not self._at(","):
                break
            self.place += 1
        if closing and not self._at(closing):
            raise self.wrong(f"{closing} at the end")
        return pa.struct(fields)

    def type(self) -> pa.DataType:
        """One type."""
        name = self._next().lower()
        if name in _SIMPLE:
            return _SIMPLE[name]
        if name in _DECIMAL:
            return self._decimal()
        if name not in _NESTED:
            close = closest(name, [*_SIMPLE, *_DECIMAL, *_NESTED])
            raise self.wrong(f"{name!r} is none{f', did you mean {close!r}?' if close else ''}")
        self._next("<")
        found: pa.DataType
        if name == "array":
            found = pa.list_(pa.field("element", self.type()))
        elif name == "map":
            key = self.type()
            self._next(",")
            found = pa.map_(key, self.type())
        else:
            found = self.fields(">")
        self._next(">")
        return found

    def _decimal(self) -> pa.DataType:
        precision, scale = 10, 0
        if self._at("("):
            self.place += 1
            precision = self._digits()
            if self._next(",", ")") == ",":
                scale = self._digits()
                self._next(")")
        if not (1 <= precision <= 38 and scale <= precision):
            raise self.wrong("a precision of 1 to 38 and a scale up to it")
        return pa.decimal128(precision, scale)

    def _digits(self) -> int:
        token = self._next()
        if not token.isdecimal():
            raise self.wrong("a number of digits")
        return int(token)
