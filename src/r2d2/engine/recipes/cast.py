"""Convert Arrow columns to Polars series, and series to ordered codes (docs/recipes.md, "Order")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from r2d2.engine.kernels.arrow_values import Numbers
from r2d2.engine.recipes.arrow_types import without_dictionary
from r2d2.engine.recipes.predicate_polars import mask_of, type_name_of
from r2d2.errors import TableError
from r2d2.model.literal import Literal
from r2d2.model.predicate import Predicate, leaves
from r2d2.model.schema import Token, spell
from r2d2.model.types import NANOSECONDS, kind_of

if TYPE_CHECKING:
    import polars as pl

Columns = Mapping[Token, pa.ChunkedArray]
Decoder = Callable[[int], Literal]
_SIGN = np.uint64(1 << 63)
LONGEST_TEXT = 256  # most bytes of a constant in an inferred predicate


def as_series(column: pa.ChunkedArray) -> pl.Series | None:
    """The column in Polars; None if Polars has no type for its values, or changes them."""
    import polars as pl

    if isinstance(column.type, pa.BaseExtensionType):
        return None
    column = without_dictionary(column)
    if pa.types.is_decimal256(column.type) or pa.types.is_date64(column.type):
        return None
    try:
        return pl.Series(pl.from_arrow(column))
    except (pl.exceptions.PolarsError, pa.ArrowException, TypeError, ValueError):
        return None


def kept_rows(columns: Columns, predicate: Predicate, rows: int) -> NDArray[np.bool_]:
    """Flags of the rows that a predicate keeps."""
    import polars as pl

    asked = sorted({leaf.column for leaf in leaves(predicate)})
    series: dict[str, pl.Series] = {}
    for number, token in enumerate(asked):
        found = as_series(columns[token])
        if found is None:
            raise TableError(f"column {spell(token)} is {columns[token].type}: rows cannot be filtered by it")
        series[f"c{number}"] = found
    frame = pl.DataFrame(series) if series else pl.DataFrame({"c": pl.zeros(rows, eager=True)})
    types = {token: (name, frame.schema[name]) for token, name in zip(asked, frame.columns, strict=False)}
    return frame.with_columns(mask_of(predicate, types).alias("kept"))["kept"].to_numpy()


def can_be_searched(series: pl.Series) -> bool:
    """Whether a predicate can have constants of the series' type."""
    kinds = ("number", "string", "binary", "bool", "date", "timestamp", "timestamp with zone", "null")
    return kind_of(type_name_of(series.dtype)) in kinds


def encode(series: pl.Series) -> tuple[NDArray[np.int64], Decoder] | None:
    """The rank of each value, -1 for NULL, and a function from rank to constant; None if a text is too long."""
    import polars as pl

    if series.dtype in (pl.String, pl.Binary):
        size = series.str.len_bytes() if series.dtype == pl.String else series.bin.size()
        if (size > LONGEST_TEXT).any():
            return None
    if series.dtype.is_float():
        return _encode_floats(series.cast(pl.Float64))
    valid = ~series.is_null().to_numpy()
    if series.dtype.is_integer() or series.dtype in (pl.Date, pl.Boolean) or isinstance(series.dtype, pl.Datetime):
        plain = series.to_physical() if series.dtype != pl.Boolean else series.cast(pl.UInt8)
        values, codes = _places(plain.fill_null(0).to_numpy(), valid)
        decode = _decoder(series.dtype)
        return codes, lambda code: decode(values[code].item())
    return _encode_by_join(series)


def _places(values: Numbers, valid: NDArray[np.bool_]) -> tuple[Numbers, NDArray[np.int64]]:
    codes = np.full(len(values), -1, np.int64)
    distinct, inverse = np.unique(values[valid], return_inverse=True)
    codes[valid] = inverse
    return distinct, codes


def _encode_floats(series: pl.Series) -> tuple[NDArray[np.int64], Decoder]:
    """Encode floats by bits that sort like the numbers: -0.0 before 0.0, one NaN after all."""
    valid = ~series.is_null().to_numpy()
    doubles = series.fill_null(0.0).to_numpy()
    doubles = np.where(np.isnan(doubles), np.nan, doubles)
    bits = doubles.view(np.uint64)
    keys, codes = _places(np.where(bits & _SIGN, ~bits, bits | _SIGN), valid)
    back = np.where(keys & _SIGN, keys & ~_SIGN, ~keys).view(np.float64)
    return codes, lambda code: Literal("float", float(back[code]))


def _encode_by_join(series: pl.Series) -> tuple[NDArray[np.int64], Decoder]:
    """Encode text, binary and decimals by Polars' order."""
    import polars as pl

    values = series.drop_nulls().unique().sort()
    numbered = pl.DataFrame({"v": values, "n": pl.int_range(len(values), eager=True, dtype=pl.Int64)})
    joined = series.to_frame("v").join(numbered, on="v", how="left", maintain_order="left")
    decode = _decoder(series.dtype)
    return joined["n"].fill_null(-1).to_numpy(), lambda code: decode(values[code])


def _decoder(dtype: pl.DataType) -> Callable[[Any], Literal]:
    import polars as pl

    if isinstance(dtype, pl.Datetime):
        kind = "timestamp with zone" if dtype.time_zone else "timestamp"
        step = NANOSECONDS[dtype.time_unit]
        return lambda value: Literal(kind, value * step)
    if dtype == pl.Boolean:
        return lambda value: Literal("bool", bool(value))
    names = {pl.Date: "date", pl.String: "string", pl.Binary: "binary"}
    word = next((name for kind, name in names.items() if dtype == kind), "int" if dtype.is_integer() else "decimal")
    return lambda value: Literal(word, value)
