"""Schemas: columns by name and type, known before any row is read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from r2d2.model.types import ColumnType, kind_of, parse_type

Token = tuple[str, ...]
"""Path of a column in the schema tree: ("a.b",) is a column named `a.b`, ("a", "b") is field b of struct a."""

_PLAIN = re.compile(r"[^\W\d][\w$-]*|\d+", re.UNICODE)


def spell(token: Token) -> str:
    """The token as a user would write it: parts joined by dots, odd parts in backticks.

    >>> spell(("customer", "id")), spell(("customer.id",)), spell(("unit price",))
    ('customer.id', '`customer.id`', '`unit price`')
    """
    return ".".join(part if _PLAIN.fullmatch(part) else f"`{part.replace('`', '``')}`" for part in token)


class Column(NamedTuple):
    """One leaf of the flattened schema. A named tuple: a lake has millions, and they are hashed and sorted."""

    token: Token
    type_name: str  # as r2d2.model.types writes it: int64, decimal(10,2), timestamp(us,UTC), list<string> …

    @property
    def type(self) -> ColumnType:
        """The type of its values."""
        return parse_type(self.type_name)

    @property
    def kind(self) -> str:
        """The class of values it can hold."""
        return kind_of(self.type_name)

    def __str__(self) -> str:
        return spell(self.token)


@dataclass(frozen=True, slots=True)
class Schema:
    """The flattened columns of a table, in order of their tokens; positions in the file are ignored."""

    columns: tuple[Column, ...]

    @staticmethod
    def of(columns: Iterable[Column]) -> Schema:
        """The schema with these columns, given in any order."""
        return Schema(tuple(sorted(columns)))

    @property
    def tokens(self) -> tuple[Token, ...]:
        """Every column's token."""
        return tuple(column.token for column in self.columns)

    def __len__(self) -> int:
        return len(self.columns)
