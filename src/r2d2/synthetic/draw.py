"""Draw the next transformation by Zipf's law, as queries on real lakes are distributed (section 6.1.1).

A few columns and a few frequent values appear in most queries. The hot columns depend only on their names
and the seed, so that many tables of a lake use the same ones.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from r2d2.errors import UserError
from r2d2.synthetic.columns import is_filterable, is_number, takes_noise, wider
from r2d2.synthetic.draw_where import draw_conditions
from r2d2.synthetic.stream import stream_of
from r2d2.synthetic.transform import (
    AddColumn,
    AddNoise,
    AddRows,
    Copy,
    KeepFields,
    RepeatRows,
    SelectWhere,
    ShuffleRows,
    Step,
    WidenTypes,
)
from r2d2.synthetic.values import zipf_weights

DEFAULT_MIX: Mapping[str, float] = {
    "select": 0.38,
    "copy": 0.14,
    "add_rows": 0.12,
    "add_column": 0.10,
    "noise": 0.09,
    "repeat": 0.03,
    "combination": 0.14,
}
SHUFFLED_SHARE, WIDENED_SHARE, NARROWED_SHARE = 0.3, 0.12, 0.15
SHUFFLE_WINDOW_ROWS = 8192
NEW_COLUMNS = ("score", "total_cost", "margin", "weight_index", "risk", "blend")


@dataclass(frozen=True, slots=True)
class Chooser:
    """Habits of a lake's users: the skew of their choices, their favourite columns, their mix of transformations."""

    seed: int
    skew: float
    mix: Mapping[str, float]

    def steps(self, sample: pa.Table, random: np.random.Generator) -> tuple[Step, ...]:
        """Steps that a user applies to a table with such rows; at least one."""
        kind = str(random.choice(list(self.mix), p=_shares(self.mix)))
        kinds = _several(random) if kind == "combination" else [kind]
        steps: list[Step] = []
        for kind in kinds:
            for step in _DRAWS[kind](self, sample, random):
                steps.append(step)
                # The next step works on the output of this one.
                sample = step.apply(stream_of(sample)).to_table()
        return (*steps, *_afterwards(sample, random)) or (Copy(),)

    def pick_columns(self, names: list[str], count: int, random: np.random.Generator) -> list[str]:
        """Draw *count* distinct columns, hot ones more likely; return them in the given order."""
        hot = sorted(names, key=lambda name: zlib.crc32(f"{self.seed}:{name}".encode()))
        chances = zipf_weights(len(hot), self.skew)
        picked = {hot[i] for i in random.choice(len(hot), size=count, replace=False, p=chances)}
        return [name for name in names if name in picked]


def check_mix(mix: Mapping[str, float]) -> None:
    """Refuse unknown kinds and invalid weights."""
    unknown = set(mix) - set(DEFAULT_MIX)
    if unknown or not mix or min(mix.values()) < 0 or sum(mix.values()) <= 0:
        raise UserError(
            f"the mix of transformations is invalid: {dict(mix)}",
            hint=f"give weights above 0 for some of {', '.join(DEFAULT_MIX)}",
        )


def _shares(mix: Mapping[str, float]) -> list[float]:
    return [weight / sum(mix.values()) for weight in mix.values()]


def _several(random: np.random.Generator) -> list[str]:
    kinds = ["select", "add_rows", "add_column", "noise"]
    return [kinds[i] for i in random.permutation(len(kinds))[: random.integers(2, 4)]]


def _draw_select(habits: Chooser, sample: pa.Table, random: np.random.Generator) -> list[Step]:
    columns: list[str] = sample.schema.names
    if len(columns) > 1 and random.random() < 0.65:
        columns = habits.pick_columns(columns, int(random.integers(1, len(columns))), random)
    filterable = [field.name for field in sample.schema if is_filterable(field.type)]
    everything = len(columns) == sample.num_columns
    count = min(len(filterable), int(random.choice([1, 2, 3] if everything else [0, 1, 1, 2])))
    named = habits.pick_columns(filterable, count, random) if count else []
    where = draw_conditions(sample, named, skew=habits.skew, random=random)
    narrowed = _draw_keep_fields(sample.select(columns), random) if random.random() < NARROWED_SHARE else []
    return [SelectWhere(tuple(columns), where), *narrowed]


def _draw_keep_fields(sample: pa.Table, random: np.random.Generator) -> list[Step]:
    structs = [field for field in sample.schema if pt.is_struct(field.type) and field.type.num_fields > 1]
    if not structs:
        return []
    struct = structs[random.integers(len(structs))]
    kept = sorted(random.permutation(struct.type.num_fields)[: random.integers(1, struct.type.num_fields)])
    return [KeepFields(struct.name, tuple(struct.type.field(int(i)).name for i in kept))]


def _draw_copy(habits: Chooser, sample: pa.Table, random: np.random.Generator) -> list[Step]:
    return [Copy()]


def _draw_add_rows(habits: Chooser, sample: pa.Table, random: np.random.Generator) -> list[Step]:
    return [AddRows(share=_share(random, 0.02, 0.5), seed=_seed(random))]


def _draw_repeat(habits: Chooser, sample: pa.Table, random: np.random.Generator) -> list[Step]:
    return [RepeatRows(share=_share(random, 0.01, 0.2), seed=_seed(random))]


def _draw_add_column(habits: Chooser, sample: pa.Table, random: np.random.Generator) -> list[Step]:
    numbers = [field.name for field in sample.schema if is_number(field.type)]
    if not numbers:
        return []
    terms = habits.pick_columns(numbers, min(len(numbers), int(random.integers(1, 4))), random)
    weights = [round(float(random.uniform(-2, 2)), 2) for _ in terms]
    free = [name for name in NEW_COLUMNS if name not in sample.schema.names]
    name = free[random.integers(len(free))] if free else f"{NEW_COLUMNS[0]}_{sample.num_columns}"
    constant = round(float(random.uniform(-10, 10)), 1)
    return [AddColumn(name, tuple(zip(terms, weights, strict=True)), constant)]


def _draw_noise(habits: Chooser, sample: pa.Table, random: np.random.Generator) -> list[Step]:
    numbers = [field.name for field in sample.schema if takes_noise(field.type)]
    if not numbers:
        return []
    chosen = habits.pick_columns(numbers, min(len(numbers), int(random.choice([1, 1, 2]))), random)
    share = _share(random, 0.01, 0.4)
    return [AddNoise(name, _spread(sample[name]) / 10, share, _seed(random)) for name in chosen]


def _afterwards(sample: pa.Table, random: np.random.Generator) -> list[Step]:
    """Steps that often follow a copy: wider types, another order."""
    steps: list[Step] = []
    narrow = [field.name for field in sample.schema if wider(field.type) is not None]
    if narrow and random.random() < WIDENED_SHARE:
        steps.append(WidenTypes(tuple(narrow)))
    if random.random() < SHUFFLED_SHARE:
        steps.append(ShuffleRows(SHUFFLE_WINDOW_ROWS, _seed(random)))
    return steps


def _spread(column: pa.ChunkedArray) -> float:
    values = column.cast(pa.float64(), safe=False).drop_null().to_numpy()
    finite = values[np.isfinite(values)]
    with np.errstate(over="ignore"):
        spread = float(finite.std()) if len(finite) else 0.0
    return spread if 0 < spread < 1e15 else 1.0


def _share(random: np.random.Generator, low: float, high: float) -> float:
    return round(float(random.uniform(low, high)), 3)


def _seed(random: np.random.Generator) -> int:
    return int(random.integers(2**53))  # every JSON reader keeps it exactly


_DRAWS: Mapping[str, Callable[[Chooser, pa.Table, np.random.Generator], list[Step]]] = {
    "select": _draw_select,
    "copy": _draw_copy,
    "add_rows": _draw_add_rows,
    "repeat": _draw_repeat,
    "add_column": _draw_add_column,
    "noise": _draw_noise,
}
