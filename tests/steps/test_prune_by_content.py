"""Sampled rows never rule out a true edge, and with a guarantee they are looked for in all columns of the child."""

from __future__ import annotations

import random
from array import array
from collections.abc import Collection, Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.engine.rows.content import Looked
from r2d2.model.graph import Check, ContainmentGraph, Edges
from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.schema import Column, Schema
from r2d2.steps import prune_by_content as step
from r2d2.steps.prune_by_content import Pair, Probe, Rows, prune_by_content

Row = tuple[int, ...]


class Table:
    """Rows of whole numbers, held in memory."""

    def __init__(self, columns: Sequence[str], rows: Sequence[Row]) -> None:
        self.schema = Schema(tuple(Column((name,), "int64") for name in sorted(columns)))
        self._place = {(name,): place for place, name in enumerate(columns)}
        self.rows = rows

    def seen_in(self, columns: Sequence[Column]) -> list[Row]:
        """All its rows, in some columns, whatever their order."""
        places = [self._place[column.token] for column in sorted(columns)]
        return [tuple(row[place] for place in places) for row in self.rows]

    def profile(self, name: str) -> TableProfile:
        values = [self.seen_in([column]) for column in self.schema.columns]
        stats = [ColumnStats(0, min(seen)[0], max(seen)[0]) if seen else ColumnStats(0) for seen in values]
        return TableProfile(name, self.schema, len(self.rows), 1, tuple(stats))


class InMemory:
    """The tables' content. It keeps what it was asked; some tables cannot be read, and some are at hand."""

    def __init__(self, tables: Sequence[Table], *, unreadable: Collection[int] = ()) -> None:
        self.tables = tables
        self.unreadable = set(unreadable)
        self.rng = random.Random(7)
        self.probes: dict[int, Probe] = {}
        self.looked_for: dict[int, list[int]] = {}  # by child, its parents

    def take_samples(self, probes: Sequence[Probe]) -> Mapping[int, Rows]:
        assert not self.probes, "one question for all children"
        self.probes = {probe.child: probe for probe in probes}
        assert len(self.probes) == len(probes), "each child once"
        return {probe.child: self._sample(probe) for probe in probes if probe.child not in self.unreadable}

    def _sample(self, probe: Probe) -> Rows:
        rows = self.tables[probe.child].seen_in(probe.columns)
        drawn = self.rng.choices(rows, k=probe.rows) if probe.uniform else rows[: probe.rows]
        return [(repr(row), row[0], ()) for row in drawn]

    def parts(self, table: int) -> int:
        return len(self.tables[table].rows)

    def look_for_rows(
        self,
        parents_of: Mapping[int, Sequence[int]],
        probes: Mapping[int, Probe],
        samples: Mapping[int, Rows],
        *,
        within: float = 1.0,
    ) -> Mapping[Pair, Looked]:
        self.within = within
        self.looked_for = {child: list(parents) for child, parents in parents_of.items()}
        found = {}
        for child, parents in parents_of.items():
            for parent in set(parents) - self.unreadable:
                held = {repr(row) for row in self.tables[parent].seen_in(probes[child].columns)}
                wanted = {text for text, *_ in samples[child]}
                found[parent, child] = Looked(wanted, held & wanted)
        return found

    def contained(self, parent: int, child: int) -> bool:
        """Brute force: whether each row of the child, in all its columns, is in the parent."""
        columns = self.tables[child].schema.columns
        return set(self.tables[child].seen_in(columns)) <= set(self.tables[parent].seen_in(columns))


def prune(
    content: InMemory,
    pairs: Sequence[Pair],
    *,
    guaranteed: bool,
    rows: int = 50,
    width: int = 2,
    proof_follows: bool = False,
) -> ContainmentGraph:
    ordered = sorted(pairs)
    edges = Edges.of(array("I", [p for p, _ in ordered]), array("I", [c for _, c in ordered]))
    profiles = [table.profile(f"t{number}") for number, table in enumerate(content.tables)]
    graph = ContainmentGraph(tuple(profile.table for profile in profiles), edges, "prune_by_minmax")
    return prune_by_content(
        graph,
        profiles=profiles,
        width=width,
        rows=rows,
        guaranteed=guaranteed,
        content=content,
        proof_follows=proof_follows,
    )


def pairs_of(edges: Edges) -> dict[Pair, Check]:
    return {(p, c): Check(k) for p, c, k in zip(edges.parents, edges.children, edges.check, strict=True)}


def names(probe: Probe) -> list[str]:
    return [str(column) for column in probe.columns]


WIDE = ("id", "flag", "year", "code", "kind")


def wide(numbers: Sequence[int], *, kind: int = 0) -> Table:
    """A table whose columns are, from the most selective to the least, id, code, year, flag and kind."""
    return Table(WIDE, [(n, n % 2, n % 20, n % 900, (n + kind) % 2) for n in numbers])


def test_the_cheap_sample_asks_for_the_most_selective_columns_the_best_first() -> None:
    content = InMemory([wide(range(9_000)), wide(range(10))])
    prune(content, [(0, 1)], guaranteed=False, width=3)
    assert names(content.probes[1]) == ["id", "code", "year"], "by the whole lake, not by the ten rows of the child"


def test_a_sample_with_a_guarantee_asks_for_all_columns_the_best_first() -> None:
    content = InMemory([wide(range(9_000)), wide(range(10))])
    prune(content, [(0, 1)], guaranteed=True, width=3)
    assert names(content.probes[1]) == ["id", "code", "year", "flag", "kind"]


def test_the_columns_are_those_of_the_child_and_not_of_the_parent() -> None:
    content = InMemory([wide(range(90)), Table(("flag", "year"), [(0, 0), (1, 1)])])
    prune(content, [(0, 1)], guaranteed=True)
    assert names(content.probes[1]) == ["year", "flag"]


@pytest.mark.parametrize("guaranteed", [True, False])
def test_so_many_rows_are_asked_for_uniformly_if_guaranteed(guaranteed: bool) -> None:
    content = InMemory([wide(range(90)), wide(range(10)), wide(range(20))])
    prune(content, [(0, 1), (2, 1), (0, 2)], guaranteed=guaranteed, rows=29)
    assert {child: (probe.rows, probe.uniform) for child, probe in content.probes.items()} == {
        1: (29, guaranteed),
        2: (29, guaranteed),
    }
    assert content.looked_for == {1: [0, 2], 2: [0]}


def test_a_child_that_differs_in_an_unselective_column_is_caught_with_a_guarantee_only() -> None:
    tables = [wide(range(1_000)), wide(range(500), kind=1)]
    assert pairs_of(prune(InMemory(tables), [(0, 1)], guaranteed=False, width=4).standing) == {(0, 1): Check.SAMPLED}
    caught = prune(InMemory(tables), [(0, 1)], guaranteed=True, width=4)
    assert pairs_of(caught.ruled_out) == {(0, 1): Check.SAMPLED} and not len(caught)


def test_what_falls_is_counted_and_marked_and_what_stands_is_marked() -> None:
    content = InMemory([wide(range(90)), wide(range(10)), wide(range(85, 95))])
    pruned = prune(content, [(0, 1), (0, 2), (1, 2)], guaranteed=True, rows=200)
    assert pairs_of(pruned.standing) == {(0, 1): Check.SAMPLED}
    assert pairs_of(pruned.ruled_out) == {(0, 2): Check.SAMPLED, (1, 2): Check.SAMPLED}
    assert (pruned.step, pruned.dropped) == ("prune_by_content", {"sample": 2})
    for edges in (pruned.standing, pruned.ruled_out):
        assert set(edges.missing_rows) == {-1}, "a sample counts nothing"


def test_a_parent_that_is_read_in_few_parts_is_left_to_be_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of a table cannot be read alone where it is read in fewer than ten parts (here, one for each row)."""
    monkeypatch.setattr(step, "WITHIN", 0.1)
    monkeypatch.setattr(step, "LEAST_BYTES", 0)
    tables = [wide(range(9)), wide(range(10)), wide(range(60)), wide(range(5, 7))]
    content = InMemory(tables)
    pruned = prune(content, [(0, 3), (1, 3), (2, 3)], guaranteed=True, proof_follows=True)
    assert (content.looked_for, content.within) == ({3: [1, 2]}, 0.1)
    assert pairs_of(pruned.standing) == {(0, 3): Check.NONE, (1, 3): Check.SAMPLED, (2, 3): Check.SAMPLED}
    everything = InMemory(tables)
    prune(everything, [(0, 3), (1, 3), (2, 3)], guaranteed=True)
    assert (everything.looked_for, everything.within) == ({3: [0, 1, 2]}, 1.0)


def test_where_there_is_nothing_to_sample_nothing_is_asked() -> None:
    content = InMemory([wide(range(9)), wide([])])
    assert len(prune(content, [], guaranteed=True)) == 0
    empty = prune(content, [(0, 1)], guaranteed=True)
    assert pairs_of(empty.standing) == {(0, 1): Check.NONE} and not empty.dropped
    assert not content.probes and not content.looked_for


def test_an_empty_parent_lacks_every_sampled_row() -> None:
    pruned = prune(InMemory([wide([]), wide(range(9))]), [(0, 1)], guaranteed=True)
    assert pairs_of(pruned.ruled_out) == {(0, 1): Check.SAMPLED}


@pytest.mark.parametrize("guaranteed", [True, False])
def test_what_cannot_be_read_rules_nothing_out(guaranteed: bool) -> None:
    tables = [wide(range(9)), wide(range(100, 109)), wide(range(100, 102))]
    for unreadable in ([0], [2]):
        content = InMemory(tables, unreadable=unreadable)
        pruned = prune(content, [(0, 2), (1, 2)], guaranteed=guaranteed)
        checks = pairs_of(pruned.standing)
        assert checks[0, 2] is Check.NONE
        assert checks[1, 2] is (Check.NONE if 2 in unreadable else Check.SAMPLED)
        assert not len(pruned.ruled_out)


COLUMNS = "abcdef"


@st.composite
def lakes(draw: st.DrawFn) -> tuple[InMemory, list[Pair]]:
    """Tables of up to six columns cut from one another, the columns of each child among those of its parents."""
    value = st.integers(0, 2)
    whole = draw(st.lists(st.tuples(*[value] * len(COLUMNS)), max_size=9))
    tables = [Table(COLUMNS, whole)]
    for _ in range(draw(st.integers(1, 4))):
        some = draw(st.sets(st.integers(0, len(COLUMNS) - 1), min_size=1))
        rows = [row for row in whole if draw(st.booleans())]
        rows += draw(st.lists(st.tuples(*[value] * len(COLUMNS)), max_size=2))
        cut = [tuple(row[place] for place in sorted(some)) for row in rows]
        tables.append(Table([COLUMNS[place] for place in sorted(some)], cut))
    unreadable = draw(st.sets(st.integers(0, len(tables) - 1), max_size=1))
    pairs = [
        (p, c)
        for p, parent in enumerate(tables)
        for c, child in enumerate(tables)
        if p != c and set(child.schema.columns) <= set(parent.schema.columns)
    ]
    return InMemory(tables, unreadable=unreadable), pairs


@settings(max_examples=200)
@given(lakes(), st.booleans(), st.integers(1, 12), st.integers(1, 6))
def test_no_true_edge_falls_and_every_edge_is_answered(
    lake: tuple[InMemory, list[Pair]], guaranteed: bool, rows: int, width: int
) -> None:
    content, pairs = lake
    pruned = prune(content, pairs, guaranteed=guaranteed, rows=rows, width=width)
    stands, fell = pairs_of(pruned.standing), pairs_of(pruned.ruled_out)
    assert sorted([*stands, *fell]) == sorted(pairs)
    for pair in fell:
        assert not content.contained(*pair) and not content.unreadable & set(pair)
    for pair, check in stands.items():
        sampled = bool(content.tables[pair[1]].rows) and not content.unreadable & set(pair)
        assert check is (Check.SAMPLED if sampled else Check.NONE)


@settings(max_examples=200)
@given(lakes())
def test_a_guaranteed_sample_of_many_draws_leaves_true_edges_only(lake: tuple[InMemory, list[Pair]]) -> None:
    content, pairs = lake
    pruned = prune(content, pairs, guaranteed=True, rows=400, width=1)  # a row is passed over in (10/11)^400 of cases
    for pair, check in pairs_of(pruned.standing).items():
        assert check is Check.NONE or content.contained(*pair)
