"""Profiles as arrays of comparable numbers: the input of min-max pruning for a whole lake.

Each column of each table is a *slot* with four numbers as a parent and four as a child; a parent's number above
the child's rules the pair out. Bounds become ranks among all bounds of the same column name and kind, so that
ints, floats, decimals and strings of any length compare exactly, as machine integers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from r2d2.model.containment import Containment
from r2d2.model.profile import ColumnStats, TableProfile, Value
from r2d2.model.schema import Column, Token

Ints = npt.NDArray[np.int64]
Ranks = npt.NDArray[np.int32]

RULES = ("files", "rows", "range", "nulls")
"""Rules that drop a pair: shared files, row counts, a column's range, a column's nulls."""

# The four numbers of a slot, and the rule that each stands for.
LOW, HIGH, NULLS, VALUES = range(4)
RULE_OF_NUMBER = np.array([RULES.index(rule) for rule in ("range", "range", "nulls", "nulls")])
FAR = 2**62  # beyond any number of rows
NEVER_AS_PARENT, NEVER_AS_CHILD = np.int32(-(2**31)), np.int32(2**31 - 1)  # unknown statistics never prune


class ColumnPlan(NamedTuple):
    """The columns of some children in the order of comparison, one child after another."""

    ends: Ints  # child by child
    places: Ints  # in the child
    parent_places: Ints
    same_kind: npt.NDArray[np.bool_]  # ranks of different kinds do not compare


@dataclass(frozen=True)
class LakeBounds:
    """The numbers of every table, as parent and as child, with an index of their places."""

    rows_as_parent: Ints  # table by table: larger than the child's if the parent is empty (with bag: has fewer rows)
    rows_as_child: Ints
    start: Ints  # table by table: its first slot
    schema: Ints  # table by table: the number of its schema
    as_parent: Ranks  # slot by slot: four numbers
    as_child: Ranks
    # Schema by schema, its columns in the order of comparison: the most selective first.
    width: Ints
    schema_start: Ints
    token: Ints
    kind: Ints
    column: Ints  # position in Schema.columns
    _keys: Ints  # schema and token as one number, sorted …
    _places: Ints  # … and the place of that token in that schema

    def plan(self, parents: Ints, children: Ints) -> ColumnPlan:
        """For each pair, how children of the one's schema are compared with parents of the other's."""
        schema, other = self.schema[children], self.schema[parents]
        width = self.width[schema]
        ends = np.cumsum(width)
        places = np.arange(int(width.sum())) - np.repeat(ends - width, width)
        slots = np.repeat(self.schema_start[schema], width) + places
        parent_places = self.place_of(np.repeat(other, width), self.token[slots])
        parent_slots = np.repeat(self.schema_start[other], width) + parent_places
        return ColumnPlan(ends, places, parent_places, self.kind[slots] == self.kind[parent_slots])

    def place_of(self, schemas: Ints, tokens: Ints) -> Ints:
        """Place of each token among the columns of each schema; the schema must have it."""
        keys = schemas * (int(self.token.max(initial=0)) + 1) + tokens
        return self._places[np.searchsorted(self._keys, keys)]


def lake_bounds(profiles: Sequence[TableProfile], containment: Containment) -> LakeBounds:
    """Convert all statistics that can be compared to numbers."""
    profiles = witnesses(profiles, containment)
    schemas = list(dict.fromkeys(profile.schema for profile in profiles))
    number_of = {schema: number for number, schema in enumerate(schemas)}
    ranks = _rank_bounds(profiles)
    order = [_telling_first(schema.columns, ranks) for schema in schemas]
    width = np.array([len(schema) for schema in schemas], dtype=np.int64)
    tokens, kinds = _number_columns([schema.columns for schema in schemas], order)
    schema_start = np.cumsum(width) - width
    keys = np.repeat(np.arange(len(schemas)), width) * (int(tokens.max(initial=0)) + 1) + tokens
    sorting = np.argsort(keys)
    schema_of = np.array([number_of[profile.schema] for profile in profiles], dtype=np.int64)
    as_parent, as_child = _slot_numbers(profiles, [order[s] for s in schema_of], ranks)
    return LakeBounds(
        rows_as_parent=_row_numbers(profiles, containment, unknown=-FAR),
        rows_as_child=_row_numbers(profiles, containment, unknown=FAR),
        start=np.cumsum(width[schema_of]) - width[schema_of],
        schema=schema_of,
        as_parent=as_parent,
        as_child=as_child,
        width=width,
        schema_start=schema_start,
        token=tokens,
        kind=kinds,
        column=np.array([position for places in order for position in places], dtype=np.int64),
        _keys=keys[sorting],
        _places=(np.arange(len(keys)) - np.repeat(schema_start, width))[sorting],
    )


def witnesses(profiles: Sequence[TableProfile], containment: Containment) -> Sequence[TableProfile]:
    """The profiles; with their statistics removed if a single missing row does not refute an edge."""
    if containment.one_witness_refutes:
        return profiles
    return [replace(one, rows=None, stats=(ColumnStats(),) * len(one.stats)) for one in profiles]


def _row_numbers(profiles: Sequence[TableProfile], containment: Containment, *, unknown: int) -> Ints:
    """Number of each table; the parent's is larger if it is empty and the child is not; for bags, if it is shorter."""
    known = (unknown if p.rows is None else -p.rows if containment.counts_copies else p.rows == 0 for p in profiles)
    return np.fromiter(known, dtype=np.int64, count=len(profiles))


RankTable = dict[tuple[Token, str], dict[Value, int]]


def _rank_bounds(profiles: Sequence[TableProfile]) -> RankTable:
    """The rank of every bound among those of its column name and kind. Python compares numbers exactly."""
    seen: defaultdict[tuple[Token, str], set[Value]] = defaultdict(set)
    for profile in profiles:
        for column, stats in zip(profile.schema.columns, profile.stats, strict=True):
            bounds = seen[column.token, column.kind]
            if stats.low is not None:
                bounds.add(stats.low)
            if stats.high is not None:
                bounds.add(stats.high)
    # One kind holds either numbers or bytes, never both.
    return {key: {bound: rank for rank, bound in enumerate(sorted(bounds))} for key, bounds in seen.items()}


def _telling_first(columns: Sequence[Column], ranks: RankTable) -> list[int]:
    """Positions of the columns, those with the most distinct bounds in the lake first."""
    return sorted(range(len(columns)), key=lambda i: -len(ranks[columns[i].token, columns[i].kind]))


def _number_columns(schemas: Sequence[Sequence[Column]], order: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    token_numbers: defaultdict[Token, int] = defaultdict(lambda: len(token_numbers))
    kind_numbers: defaultdict[str, int] = defaultdict(lambda: len(kind_numbers))
    columns = [schema[position] for schema, places in zip(schemas, order, strict=True) for position in places]
    tokens = np.array([token_numbers[column.token] for column in columns], dtype=np.int64)
    kinds = np.array([kind_numbers[column.kind] for column in columns], dtype=np.int64)
    return tokens, kinds


def _slot_numbers(
    profiles: Sequence[TableProfile], order: Sequence[Sequence[int]], ranks: RankTable
) -> tuple[Ranks, Ranks]:
    slots = sum(map(len, order))
    as_parent = np.full((slots, 4), NEVER_AS_PARENT, dtype=np.int32)
    as_child = np.full((slots, 4), NEVER_AS_CHILD, dtype=np.int32)
    slot = 0
    for profile, places in zip(profiles, order, strict=True):
        columns = profile.schema.columns
        for position in places:
            column, stats = columns[position], profile.stats[position]
            rank = ranks[column.token, column.kind]
            _number_bounds(as_parent[slot], as_child[slot], stats, rank)
            _number_nulls(as_parent[slot], as_child[slot], stats, profile.rows)
            slot += 1
    return as_parent, as_child


def _number_bounds(parent: Ranks, child: Ranks, stats: ColumnStats, rank: dict[Value, int]) -> None:
    """Set the numbers of bounds: a valid bound is enough for a parent, a child needs an exact one (HAZARDS 27)."""
    if stats.low is not None:
        parent[LOW] = rank[stats.low]
        if stats.low_exact:
            child[LOW] = rank[stats.low]
    if stats.high is not None:
        parent[HIGH] = -rank[stats.high]
        if stats.high_exact:
            child[HIGH] = -rank[stats.high]


def _number_nulls(parent: Ranks, child: Ranks, stats: ColumnStats, rows: int | None) -> None:
    """Set the numbers of NULLs: a parent without NULL cannot hold a NULL; one with only NULLs cannot hold a value."""
    if stats.nulls is not None:
        parent[NULLS] = child[NULLS] = stats.nulls == 0
    if stats.nulls is not None and rows is not None:
        parent[VALUES] = child[VALUES] = stats.nulls == rows
    elif stats.low_exact or stats.high_exact:
        child[VALUES] = 0
