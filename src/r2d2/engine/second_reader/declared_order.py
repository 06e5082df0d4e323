"""The order that Parquet footers declare for the rows of their row groups (`sorting_columns`), by columns' tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from r2d2.engine.second_reader.types import Leaf, Node, Struct, leaves_of, node_of
from r2d2.errors import TableError
from r2d2.model.recipe import Order, SortKey
from r2d2.model.schema import Token

Nodes = Sequence[tuple[str, Node]]


def nodes_in(file: pq.ParquetFile) -> tuple[tuple[str, Node], ...]:
    """Names and types of the top-level columns of a file."""
    leaves = iter([file.schema.column(number) for number in range(len(file.schema))])
    return tuple((field.name, node_of(field.type, leaves)) for field in file.schema_arrow)


def declared_orders(metadata: pq.FileMetaData, nodes: Nodes) -> frozenset[Order | None]:
    """The distinct orders that non-empty row groups declare: () without one, None for an order by values in lists."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    found = {group.sorting_columns for group in groups if group.num_rows}
    tokens = list(_leaf_tokens(nodes)) if any(found) else []
    return frozenset(_order(columns, tokens) for columns in found)


def declared_in(path: str) -> frozenset[Order | None]:
    """`declared_orders` of the file at a path."""
    try:
        with pq.ParquetFile(path) as file:
            groups = range(file.metadata.num_row_groups)
            declares = any(file.metadata.row_group(number).sorting_columns for number in groups)
            return declared_orders(file.metadata, nodes_in(file) if declares else ())
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"a footer cannot be read ({error})") from error


def sorting_columns(order: Order, nodes: Nodes) -> list[pq.SortingColumn]:
    """An order as the footer of a file with these columns declares it."""
    place = {token: number for number, token in enumerate(_leaf_tokens(nodes)) if token is not None}
    return [pq.SortingColumn(place[key.column], key.descending, key.nulls_first) for key in order]


def _order(columns: Iterable[pq.SortingColumn], tokens: Sequence[Token | None]) -> Order | None:
    keys = []
    for column in columns:
        token = tokens[column.column_index] if 0 <= column.column_index < len(tokens) else None
        if token is None:
            return None
        keys.append(SortKey(token, column.descending, column.nulls_first))
    return tuple(keys)


def _leaf_tokens(nodes: Nodes, above: Token = ()) -> Iterator[Token | None]:
    """The token of each leaf column, in Parquet's order; None for those inside lists and maps."""
    for name, node in nodes:
        match node:
            case Struct(fields):
                yield from _leaf_tokens(fields, (*above, name))
            case Leaf():
                yield (*above, name)
            case _:
                yield from (None for _ in leaves_of(node))
