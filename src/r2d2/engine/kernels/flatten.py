"""From a table to its schema set: one column per leaf, under its token."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa

from r2d2.engine.kernels.keys import NotComparable, Token

if TYPE_CHECKING:
    import polars as pl


def flatten(table: pa.Table | pa.RecordBatch) -> dict[Token, pa.ChunkedArray]:
    """Each leaf column under its token. A field of a NULL struct is NULL, like a field that is NULL itself.

    >>> point = pa.array([{"x": 1}, None], pa.struct([("x", pa.int8())]))
    >>> columns = flatten(pa.table({"p": point, "p.x": [3, 4]}))
    >>> {token: column.to_pylist() for token, column in columns.items()}
    {('p', 'x'): [1, None], ('p.x',): [3, 4]}
    """
    columns: dict[Token, pa.ChunkedArray] = {}
    for name, column in zip(table.schema.names, table.columns, strict=True):
        whole = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
        for token, leaf in _leaves((name,), whole):
            if token in columns:
                raise NotComparable("two columns have this name", token=token)
            columns[token] = leaf
    return columns


def polars_to_arrow(frame: pl.DataFrame) -> pa.Table:
    """The frame without a copy: strings stay views, unless this pyarrow cannot read them."""
    import polars as pl

    level = pl.CompatLevel.newest() if _reads_views() else pl.CompatLevel.oldest()
    columns = []
    for series in frame.get_columns():
        try:
            columns.append(series.to_arrow(compat_level=level))
        except pa.ArrowInvalid as error:
            reason = f"Arrow cannot hold Polars' type {series.dtype}"
            raise NotComparable(reason, token=(series.name,)) from error
    return pa.table(columns, names=frame.columns)


@cache
def _reads_views() -> bool:
    try:
        pa.array([""], pa.string_view()).cast(pa.large_binary())
    except pa.ArrowNotImplementedError:  # before pyarrow 18
        return False
    return True


def _leaves(token: Token, column: pa.ChunkedArray) -> Iterator[tuple[Token, pa.ChunkedArray]]:
    if not pa.types.is_struct(column.type):
        yield token, column
        return
    if not column.type.num_fields:
        raise NotComparable("a struct without fields holds nothing to compare", token=token)
    names = [field.name for field in column.type]
    for name, leaf in zip(names, column.flatten(), strict=True):
        yield from _leaves((*token, name), leaf)
