"""Recipes carried out in plain Python, on rows that another reader read: what everything fast is compared with."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyroaring import BitMap

from r2d2.model.literal import Literal
from r2d2.model.predicate import keeps
from r2d2.model.recipe import Recipe
from r2d2.synthetic.oracle.truth_rows import read_rows, table_files


def rows_made(recipe: Recipe, parent: Path) -> Counter[tuple[Any, ...]]:
    """The rows that a recipe makes of a table on disk, as canonical values, in order of the child's columns."""
    table = read_rows(parent)
    sources = [table.columns.index(output.source) for output in sorted(recipe.columns, key=lambda o: o.column.token)]
    listed = _listed(recipe, parent)
    chosen = [row for place, row in enumerate(table.rows) if _kept(recipe, listed, place, table.columns, row)]
    made = Counter(tuple(row[source] for source in sources) for row in chosen)
    return Counter(set(made)) if recipe.distinct else made


def rows_there(child: Path) -> Counter[tuple[Any, ...]]:
    """The rows of a table on disk, in order of its columns."""
    table = read_rows(child)
    order = sorted(range(len(table.columns)), key=lambda place: table.columns[place])
    return Counter(tuple(row[place] for place in order) for row in table.rows)


def _kept(recipe: Recipe, listed: set[int], place: int, columns: Any, row: Any) -> bool:
    if recipe.rows is not None:
        return place in listed
    values = dict(zip(columns, map(as_literal, row), strict=True))
    return recipe.where is None or keeps(recipe.where, values)


def _listed(recipe: Recipe, parent: Path) -> set[int]:
    """The listed rows, counted over all files in order of their paths."""
    bitmaps = {chosen.path: BitMap.deserialize(chosen.bitmap) for chosen in recipe.rows or ()}
    listed, first = set(), 0
    for path in table_files(parent):
        name = "" if path == parent else path.relative_to(parent).as_posix()
        listed |= {first + row for row in bitmaps.pop(name, ())}
        first += pq.read_metadata(path).num_rows
    assert not bitmaps, "a file is listed that is not there"
    return listed


def as_literal(value: Any) -> Literal | None:
    """A canonical value as the plain reading of a predicate takes it; of lists and the like only that they are there."""
    match value:
        case None:
            return None
        case ("number", int(over), 1):
            return Literal("int", over)
        case ("number", over, under):
            number = Fraction(over, under)
            if Fraction(float(number)) == number:
                return Literal("float", float(number))
            return Literal("decimal", Context(prec=200).divide(Decimal(over), Decimal(under)))
        case ("not a number",):
            return Literal("float", math.nan)
        case ("infinity", positive):
            return Literal("float", math.inf if positive else -math.inf)
        case ("negative zero",):
            return Literal("float", -0.0)
        case ("boolean" | "text" | "bytes" | "date" | "timestamp" | "timestamp with zone" as word, inner):
            return Literal({"boolean": "bool", "text": "string", "bytes": "binary"}.get(word, word), inner)
    return Literal("int", 0)
