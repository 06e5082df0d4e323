"""Without its deleted tables a scan says of the others what it said before."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.model.graph import Check, Edges
from r2d2.model.scan import Scan
from r2d2.model.table import Absent
from r2d2.steps.leave_out_absent import leave_out_absent
from tests.state.scans import scans
from tests.support.priced_lakes import lake

Said = dict[tuple[str, str], tuple[int, int, int]]


def said(scan: Scan, edges: Edges, *, among: set[str]) -> Said:
    """By the names of two tables, check and counts of the edge between them."""
    names = [table.name for table in scan.tables]
    answers = zip(edges.pairs(), edges.check, edges.missing_rows, edges.missing_copies, strict=True)
    named = {(names[p], names[c]): (check, rows, copies) for (p, c), check, rows, copies in answers}
    return {pair: answer for pair, answer in named.items() if among.issuperset(pair)}


@settings(max_examples=100)
@given(scans(), st.data())
def test_the_edges_between_tables_that_are_there_stand_as_they_did(scan: Scan, data: st.DataObject) -> None:
    names = [table.name for table in scan.tables]
    gone = data.draw(st.sets(st.sampled_from(names))) if names else set()
    left = leave_out_absent(replace(scan, absent=dict.fromkeys(gone, Absent("x"))))
    here = set(names) - gone
    assert [table.name for table in left.tables] == [name for name in names if name in here]
    assert [profile.table for profile in left.profiles] == [table.name for table in left.tables]
    assert not left.absent
    assert scan.graph is not None and left.graph is not None
    for before, after in (
        (scan.graph.standing, left.graph.standing),
        (scan.graph.ruled_out, left.graph.ruled_out),
    ):
        assert said(left, after, among=here) == said(scan, before, among=here)
        assert list(after.pairs()) == sorted(after.pairs())
    assert all(not gone & set(pair) for pair in left.overlaps)


def chain() -> Scan:
    """all holds most, most holds some; that all holds some follows from the two."""
    scan = lake({"all": 3, "most": 2, "some": 1}, [("all", "most"), ("all", "some"), ("most", "some")])
    assert scan.graph is not None
    check, via = scan.graph.standing.check[:], scan.graph.standing.via[:]
    check[1], via[1] = Check.IMPLIED, 1
    standing = replace(scan.graph.standing, check=check, via=via)
    return replace(scan, graph=replace(scan.graph, standing=standing), since_runs=("r1", "r2"), run="r3")


def test_nothing_is_named_between_two_tables_if_it_is_gone() -> None:
    left = leave_out_absent(replace(chain(), absent={"most": Absent("all")}))
    assert left.graph is not None
    standing = left.graph.standing
    assert list(left.graph.edges()) == [("all", "some")]
    assert list(standing.check) == [Check.IMPLIED] and list(standing.via) == list(standing.children) == [1]


def test_a_table_between_two_that_is_there_is_named_by_its_new_number() -> None:
    scan = lake({"gone": 1, "all": 3, "most": 2, "some": 1}, [("all", "most"), ("all", "some"), ("most", "some")])
    assert scan.graph is not None
    via = scan.graph.standing.via[:]
    via[1] = 2
    scan = replace(scan, graph=replace(scan.graph, standing=replace(scan.graph.standing, via=via)))
    left = leave_out_absent(replace(scan, absent={"gone": Absent("all")}))
    assert left.graph is not None and left.graph.standing.via[1] == 1


def test_since_when_an_edge_stands_goes_with_it() -> None:
    scan = chain()
    since = scan.graph.standing.parents[:0]  # type: ignore[union-attr]
    since.extend([0, 1, 2])
    left = leave_out_absent(replace(scan, since=since, absent={"all": Absent("x")}))
    assert left.standing_since(0) == "r3" and list(left.since) == [2]


def test_a_lake_without_deleted_tables_is_left_alone() -> None:
    scan = chain()
    assert leave_out_absent(scan).graph is scan.graph
