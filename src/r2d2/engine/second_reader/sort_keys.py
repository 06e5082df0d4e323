"""The order of a recipe as keys that Spark sorts by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from r2d2.engine.second_reader.instructions import Instructions
from r2d2.engine.second_reader.types import Leaf, Node, Struct
from r2d2.model.recipe import SortKey
from r2d2.model.schema import Token

if TYPE_CHECKING:
    from pyspark.sql import Column


def sort_keys(given: Instructions, made: Callable[[int], Column]) -> list[Column]:
    """The sort keys of a rebuilt table; *made* returns a column by its number in the form.

    An order never stops a rebuild. Partition columns are left out, since they are constant within a folder, and so are
    columns that Spark cannot sort.
    """
    keys = []
    for key in given.recipe.order or ():
        path = _path(key.column, given.form.nodes, given.fold_case)
        if path:
            column = made([name for name, _ in given.form.nodes].index(path[0]))
            for name in path[1:]:
                column = column.getField(name)
            keys.append(_directed(column, key))
    return keys


def _path(token: Token, fields: Sequence[tuple[str, Node]], fold_case: bool) -> Token:
    """The path of a column, as spelled here; () without such a column, or if it is nested."""
    for name, node in fields:
        if name == token[0] or (fold_case and name.casefold() == token[0].casefold()):
            if len(token) == 1:
                return (name,) if isinstance(node, Leaf) else ()
            inner = _path(token[1:], node.fields, fold_case) if isinstance(node, Struct) else ()
            return (name, *inner) if inner else ()
    return ()


def _directed(column: Column, key: SortKey) -> Column:
    if key.descending:
        return column.desc_nulls_first() if key.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if key.nulls_first else column.asc_nulls_last()
