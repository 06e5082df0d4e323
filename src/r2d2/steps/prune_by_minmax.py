"""Drop the pairs that column ranges, nulls or row counts rule out (MMP, section 4.2).

Every rule has one shape: a number of the parent must not exceed a number of the child (see `bounds`). The pairs
of many families are judged at once, on arrays, column by column, the most telling column first; what is ruled
out is not looked at again. `compare_profiles` says the same of one pair, in words: it is the oracle of this
fast form and the answer to "why?".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from r2d2.model.containment import EXACT_SET, Containment
from r2d2.model.graph import ContainmentGraph, Edges, SchemaGraph
from r2d2.model.loops import Loops
from r2d2.model.profile import TableProfile
from r2d2.model.schema import Schema
from r2d2.steps.edges.arrays import as_array
from r2d2.steps.edges.bounds import HIGH, LOW, RULE_OF_NUMBER, RULES, Ints, LakeBounds, lake_bounds

PAIRS_AT_ONCE = 1 << 20
LOOPS = Loops("r2d2.steps.edges.compiled_bounds", worth_loading=5_000_000)  # pairs, judged without them


@dataclass(frozen=True, slots=True)
class Standing:
    """Some pairs that nothing ruled out, as table numbers."""

    parents: Ints
    children: Ints


@dataclass(frozen=True, slots=True)
class DroppedPairs:
    """Some pairs that were ruled out: table numbers, rule, and the child's column (-1: the table as a whole)."""

    parents: Ints
    children: Ints
    rules: Ints  # positions in RULES
    columns: Ints  # positions in the child's schema


def prune_by_minmax(
    graph: SchemaGraph,
    *,
    profiles: Sequence[TableProfile],
    overlaps: frozenset[tuple[str, str]] = frozenset(),
    containment: Containment = EXACT_SET,
) -> ContainmentGraph:
    """The pairs of the schema graph that nothing in the profiles rules out; never drops a true one.

    *overlaps* are pairs that share files or lie in one another: they are no evidence of a copy (HAZARDS 1).
    If copies count, a child with more rows than the parent goes too.
    """
    LOOPS.expect(graph.edge_count)
    count = _counted_by_loops if LOOPS.compiled else _counted
    dropped: Counter[str] = Counter()
    pairs = []
    for standing, counts in count(graph, profiles, overlaps, containment):
        pairs.append(standing.parents * len(graph.tables) + standing.children)
        dropped.update(dict(zip(RULES, counts, strict=True)))
    return _as_graph(graph.tables, pairs, dropped)


_Counted = Iterator[tuple[Standing, Sequence[int]]]  # some pairs that stand; of the others how many each rule drops


def _counted(
    graph: SchemaGraph, profiles: Sequence[TableProfile], overlaps: frozenset[tuple[str, str]], containment: Containment
) -> _Counted:
    judged = judge_pairs(graph, profiles=profiles, overlaps=overlaps, containment=containment)
    for standing, ruled_out in judged:
        yield standing, np.bincount(ruled_out.rules, minlength=len(RULES)).tolist()


def _counted_by_loops(
    graph: SchemaGraph, profiles: Sequence[TableProfile], overlaps: frozenset[tuple[str, str]], containment: Containment
) -> _Counted:
    """The same, without an array of all pairs."""
    assert LOOPS.compiled
    bounds = lake_bounds(_those_with_pairs(graph, profiles), containment)
    shared = np.sort(_both_directions(overlaps, graph.tables))
    shares = np.zeros(len(graph.tables), np.bool_)
    shares[shared // max(1, len(shares))] = True
    rules = np.array([RULES.index("files"), RULES.index("rows")], np.int64)
    for blocks in _spread(graph):
        plan = bounds.plan(blocks.members[blocks.top], blocks.members[blocks.left])
        out, dropped = np.empty((2, blocks.pairs), np.int64), np.zeros(len(RULES), np.int64)
        found = LOOPS.compiled.judge_blocks(
            (blocks.members, blocks.top, blocks.tall, blocks.left, blocks.wide),
            (plan.ends, plan.places, plan.parent_places, plan.same_kind),
            (bounds.rows_as_parent, bounds.rows_as_child, bounds.start, bounds.as_parent, bounds.as_child),
            (shared, shares),
            (RULE_OF_NUMBER, rules),
            (out[0], out[1], dropped),
        )
        yield Standing(out[0, :found], out[1, :found]), dropped.tolist()


def judge_pairs(
    graph: SchemaGraph,
    *,
    profiles: Sequence[TableProfile],
    overlaps: frozenset[tuple[str, str]] = frozenset(),
    containment: Containment = EXACT_SET,
) -> Iterator[tuple[Standing, DroppedPairs]]:
    """Every pair of the schema graph, about PAIRS_AT_ONCE at a time: those that stand and those that do not."""
    bounds = lake_bounds(_those_with_pairs(graph, profiles), containment)
    shared = _both_directions(overlaps, graph.tables)
    for blocks in _spread(graph):
        yield _judge(_cross(blocks), bounds, shared)


_NOTHING = TableProfile("", Schema(()), 0, 0, ())


def _those_with_pairs(graph: SchemaGraph, profiles: Sequence[TableProfile]) -> list[TableProfile]:
    """The profiles of tables that have a pair; of the others nothing will be asked."""
    with_pairs = {table for family in {*graph.parents, *graph.children} for table in graph.families[family]}
    return [profile if table in with_pairs else _NOTHING for table, profile in enumerate(profiles)]


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Blocks of pairs: parents `members[top : top + tall]`, each with every child `members[left : left + wide]`.

    Those of one block are of one schema, and so are the children.
    """

    members: Ints
    top: Ints
    tall: Ints
    left: Ints
    wide: Ints

    @property
    def pairs(self) -> int:
        """How many pairs there are, those of a table with itself among them."""
        return int((self.tall * self.wide).sum())


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Pairs of tables, and of which block each is one."""

    parents: Ints
    children: Ints
    block: Ints  # pair by pair: position in the next two
    parent_example: Ints  # block by block: one of the parents
    child_example: Ints


def _spread(graph: SchemaGraph) -> Iterator[_Blocks]:
    """The pairs that the family edges stand for, about PAIRS_AT_ONCE at a time."""
    members = np.fromiter((table for family in graph.families for table in family), dtype=np.int64)
    size = np.array([len(family) for family in graph.families], dtype=np.int64)
    first = np.cumsum(size) - size
    parent = np.frombuffer(graph.parents, dtype=np.uint32)
    child = np.frombuffer(graph.children, dtype=np.uint32)
    tall, wide = size[parent], size[child]
    # A family edge of too many pairs is cut into blocks of fewer parents each.
    rows_at_once = np.maximum(1, PAIRS_AT_ONCE // np.maximum(wide, 1))
    cuts = -(-tall // rows_at_once)
    edge = np.repeat(np.arange(len(parent)), cuts)
    row = (np.arange(len(edge)) - np.repeat(np.cumsum(cuts) - cuts, cuts)) * rows_at_once[edge]
    rows = np.minimum(tall[edge] - row, rows_at_once[edge])
    top, left, columns = first[parent[edge]] + row, first[child[edge]], wide[edge]
    batch = np.cumsum(rows * columns) // PAIRS_AT_ONCE
    for some in np.split(np.arange(len(edge)), np.flatnonzero(np.diff(batch)) + 1):
        yield _Blocks(members, top[some], rows[some], left[some], columns[some])


def _cross(blocks: _Blocks) -> _Pairs:
    """Each block's parents with each of its children; no table with itself."""
    sizes = blocks.tall * blocks.wide
    block = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(block)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    row, column = np.divmod(place, blocks.wide[block])
    members = blocks.members
    parents, children = members[blocks.top[block] + row], members[blocks.left[block] + column]
    other = parents != children
    examples = members[blocks.top], members[blocks.left]
    return _Pairs(parents[other], children[other], block[other], *examples)


def _judge(pairs: _Pairs, bounds: LakeBounds, shared: Ints) -> tuple[Standing, DroppedPairs]:
    """The pairs that stand, and the others with their rule."""
    rule = np.full(len(pairs.block), -1, dtype=np.int64)
    column = np.full(len(pairs.block), -1, dtype=np.int64)
    rule[bounds.rows_as_parent[pairs.parents] > bounds.rows_as_child[pairs.children]] = RULES.index("rows")
    if len(shared):
        keys = pairs.parents * len(bounds.schema) + pairs.children
        rule[np.isin(keys, shared)] = RULES.index("files")
    parent_schema, child_schema = bounds.schema[pairs.parent_example], bounds.schema[pairs.child_example]
    width = bounds.width[child_schema]
    for place in range(int(width.max(initial=0))):
        alive = np.flatnonzero((rule == -1) & (width > place)[pairs.block])
        if len(alive):
            broken, numbers = _compare(pairs, alive, bounds, parent_schema, child_schema, place)
            rule[broken] = RULE_OF_NUMBER[numbers]
            column[broken] = bounds.column[(bounds.schema_start[child_schema] + place)[pairs.block[broken]]]
    gone = rule != -1
    ruled_out = DroppedPairs(pairs.parents[gone], pairs.children[gone], rule[gone], column[gone])
    return Standing(pairs.parents[~gone], pairs.children[~gone]), ruled_out


def _compare(
    pairs: _Pairs, alive: Ints, bounds: LakeBounds, parent_schema: Ints, child_schema: Ints, place: int
) -> tuple[Ints, Ints]:
    """The pairs among *alive* that the children's column at *place* rules out, and by which of its numbers."""
    block = pairs.block[alive]
    has_it = bounds.width[child_schema] > place
    child_slot = np.where(has_it, bounds.schema_start[child_schema] + place, 0)
    parent_place = np.zeros(len(child_schema), dtype=np.int64)
    parent_place[has_it] = bounds.place_of(parent_schema[has_it], bounds.token[child_slot[has_it]])
    parent_slot = np.where(has_it, bounds.schema_start[parent_schema] + parent_place, 0)
    breaks = (
        bounds.as_parent[bounds.start[pairs.parents[alive]] + parent_place[block]]
        > bounds.as_child[bounds.start[pairs.children[alive]] + place]
    )
    other_kind = (bounds.kind[parent_slot] != bounds.kind[child_slot])[block]
    if other_kind.any():  # ranks of different kinds do not compare; their nulls do
        breaks[np.ix_(other_kind, (LOW, HIGH))] = False
    hit = breaks.any(axis=1)
    return alive[hit], breaks[hit].argmax(axis=1)


def _both_directions(overlaps: frozenset[tuple[str, str]], tables: Sequence[str]) -> Ints:
    """Each overlapping pair, either way round, as one number."""
    number_of = {name: number for number, name in enumerate(tables)}
    known = [(number_of[a], number_of[b]) for a, b in overlaps if a in number_of and b in number_of]
    pairs = [pair for a, b in known for pair in ((a, b), (b, a))]
    return np.array([parent * len(tables) + child for parent, child in pairs], dtype=np.int64)


def _as_graph(tables: tuple[str, ...], pairs: Sequence[Ints], dropped: Counter[str]) -> ContainmentGraph:
    """The standing pairs, parent * tables + child, in order."""
    ordered = np.concatenate([np.empty(0, np.int64), *pairs])
    ordered.sort()
    count = max(1, len(tables))
    return ContainmentGraph(
        tables=tables,
        standing=Edges.of(as_array("I", ordered // count), as_array("I", ordered % count)),
        step="prune_by_minmax",
        dropped={rule: count for rule, count in dropped.items() if count},
    )
