"""Values that comparisons get wrong, as one root table for a generated lake."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from r2d2.synthetic.builtin import BuiltinRoot
from r2d2.synthetic.values import Draw, zipf

_FLOATS = (0.0, -0.0, float("nan"), 1.0, float("inf"), float("-inf"), 2.0**53, 5e-324, None)
_WHOLE = (0, 1, 2**53 + 1, 2**53, -(2**63), 2**63 - 1, None)
_TEXT = (
    "",
    " ",
    "1",
    "01",
    "NULL",
    "null",
    "a\tb",
    "\N{LATIN SMALL LETTER E WITH ACUTE}",
    "e\u0301",
    "x" * 80,
    None,
)
_BYTES = (b"", b"1", b"01", b"\x00", b"\xff\xfe", None)
_MAPS = ((), (("a", 1), ("b", 2)), (("b", 2), ("a", 1)), (("a", None),), None)
_LISTS = ((), (None,), (1,), (1, None), (1, 1), None)
_DECIMALS = ("0.0000", "1.0000", "9007199254740993.0000", "-0.0001", None)


def write_oddities(path: Path, *, rows: int, seed: int) -> Path:
    """Write the table to a file and return its path."""
    root = BuiltinRoot("oddities", 1.0, "team-x", _block)
    pq.write_table(pa.Table.from_batches(list(root.batches(biggest=rows, seed=seed)), root.schema()), path)
    return path


def _block(draw: Draw) -> dict[str, pa.Array]:
    """Hazards 2, 3, 4, 11 and 28 in one table, column names included."""
    return {
        "id": draw.ids(),
        "double": _pick(draw, pa.array(_FLOATS, pa.float64())),
        "whole": _pick(draw, pa.array(_WHOLE, pa.int64())),
        "text": _pick(draw, pa.array(_TEXT, pa.string())),
        "Text": _pick(draw, pa.array(_TEXT, pa.string())),
        "bytes": _pick(draw, pa.array(_BYTES, pa.binary())),
        "exact": _pick(draw, pa.array(_DECIMALS, pa.string()).cast(pa.decimal128(24, 4))),
        "map": _pick(draw, pa.array(_MAPS, pa.map_(pa.string(), pa.int32()))),
        "list": _pick(draw, pa.array(_LISTS, pa.list_(pa.int64()))),
        "a.b": draw.integers(0, 3, pa.int64()),
        "a": draw.structs(b=draw.integers(0, 3, pa.int64(), nulls=0.2), nulls=0.2),
        "unit price (€)": draw.normals(3.0, 1.0, pa.float32()),
    }


def _pick(draw: Draw, choices: pa.Array) -> pa.Array:
    return choices.take(pa.array(zipf(draw.random, len(choices), draw.size, skew=0.5)))
