"""Convert constants to a column's type, so that an engine compares values of one type only, and exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from r2d2.model.literal import NUMBERS, Literal, number_key
from r2d2.model.types import ColumnType, parse_type

Settled = tuple[str, int | float | str | bytes | bool]


def settled(operator: str, literal: Literal, type_name: str) -> Settled | bool:
    """Convert the comparison of a column with a literal to a constant of the column's own type.

    True or False if the result is the same for every value of the type (unknown for NULL as ever).

    >>> from decimal import Decimal
    >>> settled("<", Literal("decimal", Decimal("1.5")), "int32"), settled("=", Literal("float", 0.5), "int32")
    (('<=', 1), False)
    """
    place = native(literal, type_name)
    if place.value is None:
        return operator in ("<>", ">", ">=")
    if place.equal:
        return operator, place.value
    if operator in ("=", "<>"):
        return operator == "<>"
    return ("<=" if operator in ("<", "<=") else ">"), place.value


@dataclass(frozen=True, slots=True)
class Native:
    """Position of a literal among the values of a column's type.

    `value` is the largest value of the type up to the literal, None if all are above; `equal` tells whether it is the
    literal. Integers as int, floats as float, decimals and timestamps as counts of the type's smallest step.
    """

    value: int | float | str | bytes | bool | None
    equal: bool


def native(literal: Literal, type_name: str) -> Native:
    """Convert a literal to a column's type, exactly: engines then compare values of one type only.

    >>> from decimal import Decimal
    >>> native(Literal("decimal", Decimal("1.5")), "int32"), native(Literal("int", 2**53 + 1), "float64")
    (Native(value=1, equal=False), Native(value=9007199254740992.0, equal=False))
    """
    column_type = parse_type(type_name)
    if literal.kind in NUMBERS:
        if column_type.family == "float":
            return _native_float(literal)
        low, high, scale = _steps(column_type)
        return _native_steps(literal, low, high, scale)
    if literal.kind in ("timestamp", "timestamp with zone"):
        unit = column_type.nanoseconds
        return _clamped(int(literal.value) // unit, int(literal.value) % unit == 0, -(2**63), 2**63 - 1)
    return Native(literal.value, True)  # type: ignore[arg-type]


def _steps(column_type: ColumnType) -> tuple[int, int, int]:
    """Lowest and highest value of a whole-number or decimal type in its smallest steps, and the digits of a step."""
    if column_type.family == "decimal":
        most = 10**column_type.precision - 1
        return -most, most, column_type.scale
    bits = column_type.bits
    return (0, 2**bits - 1, 0) if column_type.family == "uint" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 0)


def _native_steps(literal: Literal, low: int, high: int, scale: int) -> Native:
    rank, number, zero = number_key(literal.value)  # type: ignore[arg-type]
    if rank:
        return Native(high if rank > 0 else None, False)
    steps = number * 10**scale
    whole = math.floor(steps)
    if zero:  # -0.0 lies between -1 step and 0
        return _clamped(-1, False, low, high)
    return _clamped(whole, whole == steps, low, high)


def _clamped(value: int, equal: bool, low: int, high: int) -> Native:
    if value < low:
        return Native(None, False)
    return Native(min(value, high), equal and value <= high)


def _native_float(literal: Literal) -> Native:
    if literal.kind == "float":
        return Native(float(literal.value), True)
    number = Fraction(literal.value)  # type: ignore[arg-type]
    try:
        nearest = float(number)
    except OverflowError:
        return Native(math.nextafter(math.inf, 0) if number > 0 else -math.inf, False)
    if Fraction(nearest) > number:
        nearest = math.nextafter(nearest, -math.inf)
    return Native(nearest + 0.0, Fraction(nearest) == number)
