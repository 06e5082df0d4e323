"""Compile predicates to Polars expressions. They keep the same rows as r2d2.model.predicate.keeps, for all types."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

from r2d2.errors import TableError
from r2d2.model.literal import Literal
from r2d2.model.native import settled
from r2d2.model.predicate import And, Between, Compare, IsNull, Leaf, Not, OneOf, Or, Predicate, apply_operator
from r2d2.model.schema import Token, spell
from r2d2.model.types import kind_of, parse_type

if TYPE_CHECKING:
    import polars as pl

Frame = Mapping[Token, tuple[str, "pl.DataType"]]
"""Name and Polars type of each column in the frame that the expression is for."""


def mask_of(predicate: Predicate, frame: Frame) -> pl.Expr:
    """True for the rows to keep, false for all others; never NULL."""
    return _truth(predicate, frame).fill_null(False)


def _truth(predicate: Predicate, frame: Frame) -> pl.Expr:
    """The predicate with three-valued logic, which Polars' AND, OR and NOT have."""
    import polars as pl

    match predicate:
        case And(parts):
            return reduce(and_, [_truth(part, frame) for part in parts], pl.lit(True))
        case Or(parts):
            return reduce(or_, [_truth(part, frame) for part in parts], pl.lit(False))
        case Not(part):
            return ~_truth(part, frame)
        case IsNull(column):
            return pl.col(frame[column][0]).is_null()
    return _Column(predicate.column, *frame[predicate.column]).holds(predicate)


class _Column:
    """One column of the frame, compared with constants of its own type."""

    def __init__(self, token: Token, name: str, dtype: pl.DataType) -> None:
        import polars as pl

        self._type = type_name_of(dtype)
        self._dtype = dtype
        self._token = token
        self._is_float = parse_type(self._type).family == "float"
        values = pl.col(name)
        self._values = values.cast(pl.Float64) if self._is_float else values

    def holds(self, leaf: Leaf) -> pl.Expr:
        """The comparison as an expression; NULL for NULL."""
        if self._type == "null":
            return self._same(None)
        match leaf:
            case Compare(_, operator, literal):
                return self._compared(operator, literal)
            case Between(_, low, high):
                return self._compared(">=", low) & self._compared("<=", high)
            case OneOf(_, literals):
                return reduce(or_, [self._compared("=", literal) for literal in literals], self._same(False))
        raise AssertionError(leaf)

    def _compared(self, operator: str, literal: Literal) -> pl.Expr:
        if literal.column_kind != kind_of(self._type):
            raise TableError(f"column {spell(self._token)} is {self._type}: it cannot be compared with {literal}")
        answer = settled(operator, literal, self._type)
        if isinstance(answer, bool):
            return self._same(answer)
        if self._is_float and answer[1] == 0:
            return self._compared_with_zero(answer[0], float(answer[1]))
        return apply_operator(answer[0], self._values, self._constant(answer[1]))

    def _compared_with_zero(self, operator: str, zero: float) -> pl.Expr:
        """Compare with a zero: -0.0 is below 0.0, which Polars calls equal. 1 / -0.0 is negative."""
        import math

        import polars as pl

        # -1: below -0.0; 0: -0.0; 1: 0.0; 2: above it, or NaN
        place = (
            pl.when(self._values < 0)
            .then(-1)
            .when(self._values > 0)
            .then(2)
            .when(self._values.is_null())
            .then(None)
            .when(1.0 / self._values < 0)
            .then(0)
            .otherwise(1)
        )
        return apply_operator(operator, place, pl.lit(0 if math.copysign(1, zero) < 0 else 1))

    def _same(self, answer: bool | None) -> pl.Expr:
        """A fixed answer for every value; unknown for NULL."""
        import polars as pl

        constant = pl.lit(answer, dtype=pl.Boolean)
        return pl.when(self._values.is_not_null()).then(constant).otherwise(pl.lit(None, dtype=pl.Boolean))

    def _constant(self, value: object) -> pl.Expr:
        import polars as pl

        if isinstance(self._dtype, pl.Decimal):
            return pl.lit(Decimal(f"{value}E-{self._dtype.scale}"), dtype=pl.Decimal(38, self._dtype.scale))
        if isinstance(self._dtype, pl.Datetime | pl.Date):
            return pl.lit(value, dtype=pl.Int32 if self._dtype == pl.Date else pl.Int64).cast(self._dtype)
        return pl.lit(value, dtype=pl.Float64 if self._is_float else self._dtype)


def type_name_of(dtype: pl.DataType) -> str:
    """R2D2's name of a Polars type with comparable values; Polars' own name for other types."""
    import polars as pl

    if isinstance(dtype, pl.Decimal):
        return f"decimal({dtype.precision},{dtype.scale})"
    if isinstance(dtype, pl.Datetime):
        return f"timestamp({dtype.time_unit}{',UTC' if dtype.time_zone else ''})"
    names = {pl.String: "string", pl.Binary: "binary", pl.Boolean: "bool", pl.Date: "date", pl.Null: "null"}
    if dtype.is_integer() or dtype.is_float():
        return str(dtype).lower()
    return next((name for kind, name in names.items() if dtype == kind), str(dtype).lower())
