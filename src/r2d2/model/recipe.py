"""Recipes: how to rebuild a child from a parent, as data (section 5.1): columns, types and rows. Never code."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from r2d2.model import predicate as predicates
from r2d2.model.counted import counted
from r2d2.model.predicate import Predicate
from r2d2.model.schema import Column, Schema, Token, spell

FORMAT = 1
INFERRED, GIVEN = "inferred", "given"  # origin of a recipe: found by R2D2, or given by a person


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of the child: its source in the parent, and its type, to which the parent's values are cast."""

    column: Column  # the child's
    source: Token  # the parent's


@dataclass(frozen=True, slots=True)
class ChosenRows:
    """Rows of one file of the parent, by number from 0, as a portable Roaring bitmap."""

    path: str  # below the parent's location, with /; "" if the parent is that one file
    rows: int  # how many are chosen
    bitmap: bytes


@dataclass(frozen=True, slots=True)
class SortKey:
    """A column of the child that its rows are sorted by, in the order of docs/recipes.md."""

    column: Token  # the child's
    descending: bool = False
    nulls_first: bool = True

    def __str__(self) -> str:
        nulls = "" if self.nulls_first != self.descending else f" NULLS {'FIRST' if self.nulls_first else 'LAST'}"
        return f"{spell(self.column)}{' DESC' if self.descending else ''}{nulls}"


Order = tuple[SortKey, ...]
LONGEST_NOTE = 1000
UNSORTED_KINDS = ("list", "map", "struct")  # kinds that cannot be sort keys


@dataclass(frozen=True)
class Recipe:
    """Rows of the parent, selected by a predicate or by a list, with some of its columns, each cast to a type."""

    columns: tuple[OutputColumn, ...]
    where: Predicate | None = None  # None: every row
    distinct: bool = False  # each row once, even if the parent has copies
    rows: tuple[ChosenRows, ...] | None = None  # listed rows; then there is no predicate
    order: Order | None = None  # sort order of the rows, ties as in the parent; (): the parent's order; None: any order
    lost_order: str = ""  # an order of the child that the recipe does not restore: a note for people

    def __post_init__(self) -> None:
        if self.rows is not None and (self.where is not None or self.distinct):
            raise ValueError("a recipe has a predicate or listed rows, not both")
        tokens = [output.column.token for output in self.columns]
        if not tokens or len(set(tokens)) < len(tokens):
            raise ValueError("a recipe needs each column of the child once")
        keys = [key.column for key in self.order or ()]
        if len(set(keys)) < len(keys) or not set(keys) <= set(tokens):
            raise ValueError("a recipe sorts by columns of the child, by each once")

    @property
    def kind(self) -> str:
        """`projection`, `predicate` or `rows`."""
        return "rows" if self.rows is not None else "projection" if self.where is None else "predicate"

    @property
    def selector_bytes(self) -> int:
        """Bytes of the list of rows, which is stored as long as the child may be rebuilt. 0 for a predicate."""
        return sum(len(file.bitmap) for file in self.rows or ())

    @cached_property
    def sources(self) -> frozenset[Token]:
        """The parent's columns that the recipe reads."""
        asked = {leaf.column for leaf in predicates.leaves(self.where)} if self.where is not None else set()
        return frozenset({output.source for output in self.columns} | asked)


def projection(schema: Schema | Iterable[Column]) -> tuple[OutputColumn, ...]:
    """Every column of the child from the parent's of the same name."""
    columns = schema.columns if isinstance(schema, Schema) else schema
    return tuple(OutputColumn(column, column.token) for column in columns)


def to_sql(recipe: Recipe, parent: str) -> str:
    """The recipe as SQL, for people to read; it is never executed."""
    names = [
        spell(c.source) if c.source == c.column.token else f"{spell(c.source)} AS {spell(c.column.token)}"
        for c in recipe.columns
    ]
    words = ["SELECT", *(["DISTINCT"] if recipe.distinct else []), ", ".join(names), "FROM", spell((parent,))]
    if recipe.where is not None:
        words += ["WHERE", predicates.to_sql(recipe.where)]
    if recipe.order:
        words += ["ORDER BY", order_text(recipe.order)]
    if recipe.rows is not None:
        rows = sum(file.rows for file in recipe.rows)
        listed = f"{counted(rows, 'listed rows')} of {counted(len(recipe.rows), 'files')}"
        words.append(f"-- {listed} ({recipe.selector_bytes:,} bytes)")
    return " ".join(words)


def order_text(order: Order) -> str:
    """The keys as ORDER BY spells them, with Spark's default for NULL: smallest.

    >>> order_text((SortKey(("a",)), SortKey(("b",), descending=True, nulls_first=True)))
    'a, b DESC NULLS FIRST'
    """
    return ", ".join(map(str, order))


def to_json(recipe: Recipe) -> dict[str, Any]:
    """Plain JSON values; the shape is in docs/recipes.md."""
    data: dict[str, Any] = {
        "format": FORMAT,
        "columns": [
            {"column": list(c.column.token), "type": c.column.type_name, "from": list(c.source)} for c in recipe.columns
        ],
    }
    if recipe.where is not None:
        data["where"] = predicates.to_json(recipe.where)
    if recipe.distinct:
        data["distinct"] = True
    if recipe.rows is not None:
        data["rows"] = [
            {"file": file.path, "count": file.rows, "bitmap": base64.b64encode(file.bitmap).decode()}
            for file in recipe.rows
        ]
    if recipe.order is not None:
        data["order"] = order_to_json(recipe.order)
    if recipe.lost_order:
        data["lost_order"] = recipe.lost_order
    return data


def order_to_json(order: Order) -> list[dict[str, Any]]:
    """Plain JSON values."""
    return [{"column": list(key.column), "descending": key.descending, "nulls_first": key.nulls_first} for key in order]


def order_from_json(data: Any) -> Order:
    """The order that `order_to_json` wrote; ValueError for anything else."""
    if not isinstance(data, list):
        raise ValueError("the order of a recipe is a list of columns")
    return tuple(map(_sort_key, data))


def _sort_key(data: Any) -> SortKey:
    match data:
        case {"column": column, **rest} if rest.keys() <= {"descending", "nulls_first"}:
            descending = rest.get("descending", False)
            nulls_first = rest.get("nulls_first", not descending)
            if isinstance(descending, bool) and isinstance(nulls_first, bool):
                return SortKey(predicates.token_from_json(column), descending, nulls_first)
    raise ValueError('a column to sort by has a "column" and perhaps "descending" and "nulls_first", true or false')


def from_json(data: Any) -> Recipe:
    """The recipe that `to_json` wrote; ValueError for anything else."""
    if not isinstance(data, dict):
        raise ValueError("a recipe is an object")
    unknown = data.keys() - {"format", "columns", "where", "distinct", "rows", "order", "lost_order"}
    if unknown:
        raise ValueError(f"a recipe has no field {sorted(unknown)[0]!r}")
    if data.get("format", FORMAT) != FORMAT:
        raise ValueError(f"the recipe is of format {data['format']!r}, not {FORMAT}")
    if not isinstance(data.get("columns"), list) or not isinstance(data.get("distinct", False), bool):
        raise ValueError("a recipe has a list of columns, and distinct is true or false")
    lost_order = data.get("lost_order", "")
    if not isinstance(lost_order, str) or len(lost_order) > LONGEST_NOTE:
        raise ValueError(f"lost_order is a text of at most {LONGEST_NOTE:,} characters")
    return Recipe(
        columns=tuple(map(_column, data["columns"])),
        where=predicates.from_json(data["where"]) if "where" in data else None,
        distinct=data.get("distinct", False),
        rows=_file_rows(data["rows"]) if "rows" in data else None,
        order=order_from_json(data["order"]) if "order" in data else None,
        lost_order=lost_order,
    )


def from_text(text: str) -> Recipe:
    """The recipe in a JSON text; ValueError for anything else."""
    try:
        return from_json(json.loads(text))
    except RecursionError as error:
        raise ValueError("the recipe is nested too deep") from error


def _column(data: Any) -> OutputColumn:
    match data:
        case {"column": column, "type": str(type_name), **rest} if rest.keys() <= {"from"}:
            token = predicates.token_from_json(column)
            source = predicates.token_from_json(data["from"]) if "from" in data else token
            return OutputColumn(Column(token, type_name), source)
    raise ValueError('a column of a recipe has a "column", a "type" and perhaps a "from"')


def _file_rows(data: Any) -> tuple[ChosenRows, ...]:
    if not isinstance(data, list):
        raise ValueError("the rows of a recipe are listed file by file")
    return tuple(map(_one_file, data))


def _one_file(data: Any) -> ChosenRows:
    match data:
        case {"file": str(path), "count": int(rows), "bitmap": str(bitmap)}:
            return ChosenRows(path, rows, base64.b64decode(bitmap, validate=True))
    raise ValueError('the rows of a file have a "file", a "count" and a "bitmap"')
