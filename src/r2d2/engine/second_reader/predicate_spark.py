"""Compile predicates to Spark Columns, call by call: no text of a user or of the data is ever parsed (HAZARDS 32).

They keep the same rows as r2d2.model.predicate.keeps, whatever the session's time zone, ANSI mode or case rules.
"""

from __future__ import annotations

from decimal import Decimal
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any

from r2d2.errors import TableError
from r2d2.model.literal import Literal, from_text, to_text
from r2d2.model.native import Settled, settled
from r2d2.model.predicate import And, Between, Compare, IsNull, Leaf, Not, OneOf, Or, Predicate, apply_operator
from r2d2.model.schema import Token, spell
from r2d2.model.types import kind_of, parse_type

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType, StructType

_NAMES = {
    "tinyint": "int8",
    "smallint": "int16",
    "int": "int32",
    "bigint": "int64",
    "float": "float32",
    "double": "float64",
    "string": "string",
    "binary": "binary",
    "boolean": "bool",
    "date": "date",
    "timestamp": "timestamp(us,UTC)",
    "timestamp_ntz": "timestamp(us)",
    "void": "null",
}


def column_of(token: Token) -> Column:
    """The column with this token: each part is one name, whatever characters it contains."""
    from pyspark.sql import functions as F

    return F.col(".".join("`" + part.replace("`", "``") + "`" for part in token))


def to_spark(predicate: Predicate, schema: StructType) -> Column:
    """True for the rows to keep, false for all others; never NULL."""
    from pyspark.sql import functions as F

    return F.coalesce(_truth(predicate, schema), F.lit(False))


def _truth(predicate: Predicate, schema: StructType) -> Column:
    from pyspark.sql import functions as F

    match predicate:
        case And(parts):
            return reduce(and_, [_truth(part, schema) for part in parts], F.lit(True))
        case Or(parts):
            return reduce(or_, [_truth(part, schema) for part in parts], F.lit(False))
        case Not(part):
            return ~_truth(part, schema)
        case IsNull(column):
            return column_of(column).isNull()
    return _Compared(predicate.column, _type_of(predicate.column, schema)).holds(predicate)


def _type_of(token: Token, schema: StructType) -> DataType:
    kind: DataType = schema
    for part in token:
        found = [field.dataType for field in getattr(kind, "fields", ()) if field.name == part]
        if len(found) != 1:
            raise TableError(f"Spark reads no column {spell(token)}, or several")
        kind = found[0]
    return kind


class _Compared:
    """One column, compared with constants of its own type."""

    def __init__(self, token: Token, kind: DataType) -> None:
        word = kind.simpleString()
        self._type = _NAMES.get(word, word)  # Spark's name of a decimal is ours
        self._is_float = parse_type(self._type).family == "float"
        self._token = token
        values = column_of(token)
        self._values = values.cast("double") if self._is_float else values

    def holds(self, leaf: Leaf) -> Column:
        """The comparison as a Column; NULL for NULL."""
        if self._type == "null":
            return self._same(None)
        match leaf:
            case Compare(_, operator, literal):
                return self._compared(operator, literal)
            case Between(_, low, high):
                return self._compared(">=", low) & self._compared("<=", high)
            case OneOf(_, literals):
                return self._one_of(literals)
        raise AssertionError(leaf)

    def _one_of(self, literals: tuple[Literal, ...]) -> Column:
        """Membership in a list. Simple constants go into one `isin`: separate expressions are slow for long lists."""
        plain, others = [], [self._same(False)]
        for literal in literals:
            answer = self._answer("=", literal)
            if not isinstance(answer, bool) and answer[0] == "=" and not (self._is_float and answer[1] == 0):
                plain.append(self._constant(answer[1]))
            else:
                others.append(self._compared("=", literal))
        return reduce(or_, others, self._values.isin(*plain)) if plain else reduce(or_, others)

    def _compared(self, operator: str, literal: Literal) -> Column:
        answer = self._answer(operator, literal)
        if isinstance(answer, bool):
            return self._same(answer)
        if self._is_float and answer[1] == 0:
            return self._compared_with_zero(*answer)
        return apply_operator(answer[0], self._values, self._constant(answer[1]))

    def _answer(self, operator: str, literal: Literal) -> bool | Settled:
        """The comparison in the column's own type: a fixed answer, or an operator and a value."""
        if literal.column_kind != kind_of(self._type):
            raise TableError(f"column {spell(self._token)} is {self._type}: it cannot be compared with {literal}")
        return settled(operator, literal, self._type)

    def _compared_with_zero(self, operator: str, zero: object) -> Column:
        """Compare with a zero: -0.0 is below 0.0, which Spark calls equal but prints differently."""
        from pyspark.sql import functions as F

        place = (  # -1: below -0.0; 0: -0.0; 1: 0.0; 2: above it, or NaN
            F.when(self._values < 0, -1)
            .when(self._values > 0, 2)
            .when(self._values.isNull(), F.lit(None))
            .when(self._values.cast("string").startswith("-"), 0)
            .otherwise(1)
        )
        return apply_operator(operator, place, F.lit(0 if str(zero).startswith("-") else 1))

    def _same(self, answer: bool | None) -> Column:
        """A fixed answer for every value; unknown for NULL."""
        from pyspark.sql import functions as F

        return F.when(self._values.isNotNull(), F.lit(answer).cast("boolean"))

    def _constant(self, value: Any) -> Column:
        """A literal of the column's type, independent of session settings."""
        from pyspark.sql import functions as F

        if (wanted := parse_type(self._type)).family == "decimal":
            return F.lit(format(Decimal(f"{value}E-{wanted.scale}"), "f")).cast(self._type)
        match self._type:
            case "date":
                return F.date_from_unix_date(F.lit(value))
            case "timestamp(us,UTC)":
                return F.timestamp_micros(F.lit(value).cast("bigint"))
            case "timestamp(us)":
                return F.lit(_local(value)).cast("timestamp_ntz")
            case "binary":
                return F.unhex(F.lit(value.hex()))
        return F.lit(value)


def _local(microseconds: int) -> str:
    """A local time as Spark reads it."""
    text = to_text(Literal("timestamp", microseconds * 1000))
    if text.startswith("ns "):
        raise TableError(f"Spark cannot represent the time {text}")
    assert from_text("timestamp", text).value == microseconds * 1000
    return text
