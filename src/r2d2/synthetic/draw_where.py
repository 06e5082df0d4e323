"""Draw WHERE conditions from a sample of the table, so that they ask for frequent values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from r2d2.synthetic.columns import is_ordered
from r2d2.synthetic.conditions import Between, Condition, OneOf
from r2d2.synthetic.values import zipf

FEW_VALUES = 24
RANGE_WIDTHS = (0.5, 0.25, 0.75, 0.1, 0.05)


def draw_conditions(
    sample: pa.Table, columns: Sequence[str], *, skew: float, random: np.random.Generator
) -> tuple[Condition, ...]:
    """One condition per column, each drawn from the rows that satisfy the earlier ones: some row satisfies all."""
    conditions: list[Condition] = []
    for column in columns:
        if not sample.num_rows:
            break
        condition = _draw_condition(sample, column, skew=skew, random=random)
        rows = sample.combine_chunks().to_batches()[0]
        sample = pa.Table.from_batches([rows.filter(condition.mask(rows))])
        conditions.append(condition)
    return tuple(conditions)


def _draw_condition(sample: pa.Table, column: str, *, skew: float, random: np.random.Generator) -> Condition:
    values = sample[column]
    ordered = _in_order(values)
    if is_ordered(values.type) and len(ordered) and pc.count_distinct(values, "all").as_py() > FEW_VALUES:
        return _draw_range(column, ordered, skew=skew, random=random)
    return _draw_values(column, values, skew=skew, random=random)


def _draw_range(column: str, ordered: pa.Array, *, skew: float, random: np.random.Generator) -> Between:
    width = RANGE_WIDTHS[int(zipf(random, len(RANGE_WIDTHS), 1, skew)[0])]
    start = random.uniform(0, 1 - width)
    last = len(ordered) - 1
    low, high = str(ordered[int(start * last)]), str(ordered[int((start + width) * last)])
    open_end = random.choice(["none", "low", "high"])
    return Between(column, None if open_end == "low" else low, None if open_end == "high" else high)


def _draw_values(column: str, values: pa.ChunkedArray, *, skew: float, random: np.random.Generator) -> OneOf:
    counts = {item["values"]: item["counts"] for item in _counted(values).to_pylist()}
    hot = sorted(counts, key=lambda text: (-counts[text], text or ""))
    picked = zipf(random, len(hot), int(random.choice([1, 1, 1, 2, 3])), skew)
    return OneOf(column, tuple(hot[rank] for rank in sorted(set(picked.tolist()))))


def _counted(values: pa.ChunkedArray) -> pa.StructArray:
    return pc.value_counts(values.cast(pa.string()))


def _in_order(values: pa.ChunkedArray) -> pa.Array:
    """The values as text, smallest first, without NULL and NaN."""
    known = values.drop_null().combine_chunks()
    if pt.is_floating(known.type):
        known = known.filter(pc.is_finite(known))
    return known.take(pc.sort_indices(known)).cast(pa.string())
