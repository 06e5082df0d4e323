"""Predicates as data, which select the rows of a parent for a recipe. docs/recipes.md and `keeps` define their meaning.

A comparison with NULL is unknown; AND, OR and NOT follow three-valued logic; a row is kept only if the whole is true.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from r2d2.model.literal import Literal, from_text, order, to_text
from r2d2.model.schema import Token, spell
from r2d2.model.types import kind_of

DEEPEST = 50
OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
Values = TypeVar("Values")


def apply_operator(sign: str, values: Values, constant: Values) -> Values:
    """Apply a comparison to values with Python's operators, such as the columns of an engine."""
    compared: Values = OPERATORS[sign](values, constant)
    return compared


@dataclass(frozen=True, slots=True)
class Compare:
    """Comparison: column operator literal."""

    column: Token
    operator: str
    literal: Literal

    def __post_init__(self) -> None:
        if self.operator not in OPERATORS:
            raise ValueError(f"there is no comparison {self.operator!r}")


@dataclass(frozen=True, slots=True)
class Between:
    """Range, bounds included: low <= column <= high."""

    column: Token
    low: Literal
    high: Literal


@dataclass(frozen=True, slots=True)
class OneOf:
    """The column equals one of the literals."""

    column: Token
    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class IsNull:
    """The column is NULL: true or false, never unknown."""

    column: Token


@dataclass(frozen=True, slots=True)
class And:
    """True if all parts hold; without parts, true."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True if one part holds; without parts, false."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Negation; unknown stays unknown."""

    part: Predicate


Predicate = Compare | Between | OneOf | IsNull | And | Or | Not
Leaf = Compare | Between | OneOf | IsNull


def keeps(predicate: Predicate, row: Mapping[Token, Literal | None]) -> bool:
    """Whether a row is kept. Defines the meaning of predicates: compiled forms are tested against it."""
    return truth(predicate, row) is True


def truth(predicate: Predicate, row: Mapping[Token, Literal | None]) -> bool | None:
    """True, false, or None for unknown."""
    match predicate:
        case And(parts):
            return _all([truth(part, row) for part in parts])
        case Or(parts):
            return _negated(_all([_negated(truth(part, row)) for part in parts]))
        case Not(part):
            return _negated(truth(part, row))
        case IsNull(column):
            return row[column] is None
    value = row[predicate.column]
    return None if value is None else _holds(predicate, value)


def _holds(leaf: Compare | Between | OneOf, value: Literal) -> bool:
    match leaf:
        case Compare(_, sign, literal):
            return bool(OPERATORS[sign](order(value, literal), 0))
        case Between(_, low, high):
            return order(value, low) >= 0 and order(value, high) <= 0
    return any(order(value, literal) == 0 for literal in leaf.literals)


def _all(truths: Sequence[bool | None]) -> bool | None:
    return False if False in truths else None if None in truths else True


def _negated(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def leaves(predicate: Predicate) -> Iterator[Leaf]:
    """Every comparison in a predicate."""
    match predicate:
        case And(parts) | Or(parts):
            for part in parts:
                yield from leaves(part)
        case Not(part):
            yield from leaves(part)
        case _:
            yield predicate


def literals_of(leaf: Leaf) -> tuple[Literal, ...]:
    """The constants of a comparison."""
    match leaf:
        case Compare(_, _, literal):
            return (literal,)
        case Between(_, low, high):
            return low, high
        case OneOf(_, literals):
            return literals
    return ()


def wrong_with(predicate: Predicate, types: Mapping[Token, str]) -> str | None:
    """The reason that the predicate does not fit a table with these columns; None if it fits."""
    for leaf in leaves(predicate):
        if leaf.column not in types:
            return f"the parent has no column {spell(leaf.column)}"
        kind = kind_of(types[leaf.column])
        for literal in literals_of(leaf):
            if literal.column_kind != kind:
                return f"column {spell(leaf.column)} is {types[leaf.column]}: {literal} can never equal it"
    return None


def to_sql(predicate: Predicate) -> str:
    """The predicate as SQL, for people to read; engines get the tree itself.

    >>> to_sql(And((IsNull(("a b",)), Compare(("n",), ">", Literal("int", 5)))))
    '`a b` IS NULL AND n > 5'
    """
    match predicate:
        case And(parts) | Or(parts):
            word = " AND " if isinstance(predicate, And) else " OR "
            return word.join(map(_grouped, parts)) or ("TRUE" if isinstance(predicate, And) else "FALSE")
        case Not(IsNull(column)):
            return f"{spell(column)} IS NOT NULL"
        case Not(part):
            return f"NOT {_grouped(part)}"
        case IsNull(column):
            return f"{spell(column)} IS NULL"
        case Compare(column, sign, literal):
            return f"{spell(column)} {sign} {literal}"
        case Between(column, low, high):
            return f"{spell(column)} BETWEEN {low} AND {high}"
    listed = ", ".join(map(str, predicate.literals))
    return f"{spell(predicate.column)} IN ({listed})"


def _grouped(part: Predicate) -> str:
    return f"({to_sql(part)})" if isinstance(part, And | Or) else to_sql(part)


def to_json(predicate: Predicate) -> dict[str, Any]:
    """Plain JSON values (docs/recipes.md)."""
    match predicate:
        case And(parts):
            return {"and": [to_json(part) for part in parts]}
        case Or(parts):
            return {"or": [to_json(part) for part in parts]}
        case Not(part):
            return {"not": to_json(part)}
        case IsNull(column):
            return {"column": list(column), "is_null": True}
        case Compare(column, sign, literal):
            return {"column": list(column), "is": sign, "value": _literal_json(literal)}
        case Between(column, low, high):
            return {"column": list(column), "between": [_literal_json(low), _literal_json(high)]}
    return {"column": list(predicate.column), "in": [_literal_json(literal) for literal in predicate.literals]}


def from_json(data: Any, depth: int = 0) -> Predicate:
    """The predicate that `to_json` wrote; ValueError for anything else."""
    if depth > DEEPEST:
        raise ValueError(f"the predicate is nested more than {DEEPEST} deep")
    if not isinstance(data, dict):
        raise ValueError(f"a predicate is an object, not {_short(data)}")
    match data:
        case {"and": list(parts), **rest} if not rest:
            return And(tuple(from_json(part, depth + 1) for part in parts))
        case {"or": list(parts), **rest} if not rest:
            return Or(tuple(from_json(part, depth + 1) for part in parts))
        case {"not": part, **rest} if not rest:
            return Not(from_json(part, depth + 1))
        case {"column": column, "is_null": True, **rest} if not rest:
            return IsNull(token_from_json(column))
        case {"column": column, "is": str(sign), "value": value, **rest} if not rest:
            return Compare(token_from_json(column), sign, _literal(value))
        case {"column": column, "between": [low, high], **rest} if not rest:
            return Between(token_from_json(column), _literal(low), _literal(high))
        case {"column": column, "in": [*values], **rest} if not rest:
            return OneOf(token_from_json(column), tuple(map(_literal, values)))
    raise ValueError(f"this is not a predicate: {_short(data)}")


def token_from_json(data: Any) -> Token:
    """A column as the list of its path's parts."""
    if not isinstance(data, list) or not data or not all(isinstance(part, str) for part in data):
        raise ValueError(f'a column is the list of its parts, such as ["address", "city"], not {_short(data)}')
    return tuple(data)


def _literal_json(literal: Literal) -> dict[str, str]:
    return {literal.kind: to_text(literal)}


def _literal(data: Any) -> Literal:
    if not isinstance(data, dict) or len(data) != 1:
        raise ValueError(f'a value is an object of its type and text, such as {{"int": "5"}}, not {_short(data)}')
    ((kind, text),) = data.items()
    if not isinstance(text, str):
        raise ValueError(f"the value of type {kind} must be written as text, not {_short(text)}")
    return from_text(kind, text)


def _short(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= 60 else text[:60] + "…"
