"""Typed constants of predicates: their order and their text.

One total order for all engines (docs/recipes.md): numbers by mathematics, -0.0 just below 0, NaN above everything;
text and binary by bytes, false before true, timestamps by time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

Constant = int | float | Decimal | str | bytes | bool
"""Value of a literal. A date is a number of days, a timestamp a number of nanoseconds, since 1970."""

NUMBERS = ("int", "float", "decimal")
KINDS = (*NUMBERS, "string", "binary", "bool", "date", "timestamp", "timestamp with zone")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z?)")


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant with its type. Two are equal if their texts are: NaN is NaN, and -0.0 is not 0.0."""

    kind: str
    value: Constant

    def __post_init__(self) -> None:
        wanted = {"int": int, "float": float, "decimal": Decimal, "string": str, "binary": bytes, "bool": bool}
        if type(self.value) is not wanted.get(self.kind, int) or self.kind not in KINDS:
            raise ValueError(f"{self.value!r} is not a constant of type {self.kind}")
        if isinstance(self.value, Decimal) and not self.value.is_finite():
            raise ValueError(f"a decimal is a number, not {self.value}")

    @property
    def column_kind(self) -> str:
        """The kind of columns that the literal can be compared with (r2d2.model.schema.kind_of)."""
        return "number" if self.kind in NUMBERS else self.kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and (self.kind, to_text(self)) == (other.kind, to_text(other))

    def __hash__(self) -> int:
        return hash((self.kind, to_text(self)))

    def __str__(self) -> str:
        return _SQL.get(self.kind, to_text)(self)


def order(one: Literal, other: Literal) -> int:
    """Compare two constants of one kind of column: -1, 0 or 1.

    >>> order(Literal("float", -0.0), Literal("int", 0)), order(Literal("float", float("nan")), Literal("int", 7))
    (-1, 1)
    """
    if one.column_kind != other.column_kind:
        raise ValueError(f"{one.kind} and {other.kind} are never compared")
    a, b = _key(one), _key(other)
    return 1 if a > b else -1 if a < b else 0


def _key(literal: Literal) -> Any:
    value = literal.value
    if literal.kind == "string":
        return str(value).encode("utf-8", "surrogatepass")
    return number_key(value) if literal.kind in NUMBERS else value  # type: ignore[arg-type]


def number_key(value: int | float | Decimal) -> tuple[int, Fraction, int]:
    """Sort key of numbers of all types: rank of infinity and NaN, the number, and the sign of a zero."""
    if isinstance(value, float) and not math.isfinite(value):
        return (2 if math.isnan(value) else 1 if value > 0 else -1), Fraction(0), 0
    negative_zero = isinstance(value, float) and value == 0 and math.copysign(1, value) < 0
    return 0, Fraction(value), -int(negative_zero)


def to_text(literal: Literal) -> str:
    """The value as text that `from_text` reads back exactly."""
    value = literal.value
    if literal.kind == "bool":
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return repr(value)
    if literal.kind == "date":
        return _date_text(int(value))
    if literal.kind.startswith("timestamp"):
        return _moment_text(int(value)) + ("Z" if literal.kind.endswith("zone") else "")
    return str(value)


def from_text(kind: str, text: str) -> Literal:
    """The literal that `to_text` wrote; ValueError for any other text."""
    read: dict[str, Callable[[str], Constant]] = {
        "int": _whole,
        "float": float,
        "decimal": _decimal,
        "string": str,
        "binary": bytes.fromhex,
        "bool": lambda word: {"true": True, "false": False}[word],
        "date": _days,
        "timestamp": lambda moment: _nanoseconds(moment, ""),
        "timestamp with zone": lambda moment: _nanoseconds(moment, "Z"),
    }
    try:
        return Literal(kind, read[kind](text))
    except (KeyError, ArithmeticError, ValueError) as error:
        raise ValueError(f"{text!r} is not a constant of type {kind}") from error


def _whole(text: str) -> int:
    if not re.fullmatch(r"-?\d{1,4000}", text, re.ASCII):
        raise ValueError(text)
    return int(text)


def _decimal(text: str) -> Decimal:
    if not re.fullmatch(r"-?\d{1,200}(\.\d{1,200})?(E[+-]?\d{1,3})?", text, re.ASCII):
        raise ValueError(text)
    return Decimal(text)


def _date_text(days: int) -> str:
    try:
        return (date(1970, 1, 1) + timedelta(days=days)).isoformat()
    except OverflowError:  # before the year 1 or after 9999
        return f"day {days}"


def _days(text: str) -> int:
    if text.startswith("day "):
        return _whole(text[4:])
    return date.fromisoformat(text).toordinal() - date(1970, 1, 1).toordinal()


def _moment_text(nanoseconds: int) -> str:
    seconds, rest = divmod(nanoseconds, 10**9)
    try:
        whole = (_EPOCH + timedelta(seconds=seconds)).strftime("%H:%M:%S")
        day = (_EPOCH + timedelta(seconds=seconds)).date().isoformat()
    except OverflowError:
        return f"ns {nanoseconds}"
    return f"{day}T{whole}" + (f".{rest:09d}".rstrip("0") if rest else "")


def _nanoseconds(text: str, zone: str) -> int:
    if text.startswith("ns ") and text.endswith(zone):
        return _whole(text[3:].removesuffix("Z") if zone else text[3:])
    found = _MOMENT.fullmatch(text)
    if not found or found[4] != zone:
        raise ValueError(text)
    seconds = (datetime.fromisoformat(f"{found[1]}T{found[2]}+00:00") - _EPOCH) // timedelta(seconds=1)
    return seconds * 10**9 + int((found[3] or "0").ljust(9, "0"))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_SQL: dict[str, Callable[[Literal], str]] = {
    "string": lambda literal: _quoted(str(literal.value)),
    "binary": lambda literal: f"X'{to_text(literal)}'",
    "bool": lambda literal: to_text(literal).upper(),
    "date": lambda literal: f"DATE '{to_text(literal)}'",
    "timestamp": lambda literal: f"TIMESTAMP '{to_text(literal).replace('T', ' ')}'",
    "timestamp with zone": lambda literal: f"TIMESTAMP '{to_text(literal).replace('T', ' ')}'",
    "float": lambda literal: _float_sql(float(literal.value)),
    "decimal": lambda literal: format(Decimal(literal.value), "f"),  # type: ignore[arg-type]  # 1E-20 would be a float
}


def _float_sql(value: float) -> str:
    """Spell a float with an exponent: `0.5` would be a decimal."""
    if not math.isfinite(value):
        return f"DOUBLE '{value}'"
    text = repr(value)
    return text if "e" in text else text + "e0"
