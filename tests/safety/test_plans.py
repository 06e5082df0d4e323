"""A plan that was edited, is stale, was used, or names what it may not is refused; nothing is touched (HAZARDS 18, 31)."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.safety import codec
from r2d2.safety.errors import Refused
from r2d2.safety.guards import LARGE_SHARE, LakeSize, Places, number_to_type, refuse_overlapping
from r2d2.safety.operations import CheckPlan, CheckTables, Commit, MoveAside, UsePlan, VerifyAside, explain, operations
from r2d2.safety.paths import SAFETY, check_path, overlaps, why_unsafe
from r2d2.safety.plan import parse_plan, plan_bytes, read_plan, recipe_digest, seal, write_plan
from r2d2.safety.snapshots import below, see_table
from tests.safety.world import memory_world, posix_world


def edits(value: Any) -> Iterator[Any]:
    """Every value that differs from *value* at one place: another scalar, a field more or less, an item more or less."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield {name: one for name, one in value.items() if name != key}
            for edited in edits(item):
                yield {**value, key: edited}
        yield {**value, "surplus": 1}
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield value[:index] + value[index + 1 :]
            for edited in edits(item):
                yield [*value[:index], edited, *value[index + 1 :]]
        yield [*value, *value[:1]]
        if len(value) > 1:
            yield value[::-1]
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, -value - 1, float(value), str(value), None)
    else:
        yield from (value + "x", value[:-1], "", 0, None)


def lake_of(world: Any) -> dict[str, bytes]:
    return {
        path: b"".join(world.files.chunks(path))
        for path in below(world.files, "")
        if not path.startswith(SAFETY) and not path.endswith("/")
    }


def test_every_edit_of_every_field_is_refused() -> None:
    plan = memory_world().plan
    text = codec.parse(plan_bytes(plan))
    tried = 0
    for edited in edits(text):
        if codec.canonical(edited) == codec.canonical(text):
            continue
        with pytest.raises(Refused):
            parse_plan(codec.canonical(edited))
        tried += 1
    assert tried > 700


def test_every_edit_that_was_sealed_again_is_refused_or_rolled_back() -> None:
    """What a plan says of tables is checked against the tables, not against the plan's word."""
    prepared = memory_world(["a/small"])
    before = lake_of(prepared)
    entry = codec.encode(prepared.plan.entries[0])
    tried = 0
    for edited in edits(entry):
        if edited.get("child", {}).get("name") != "a/small" or _names(edited.get("parents")) - {"big"}:
            continue  # a name is only for people
        try:
            changed = codec.decode(type(prepared.plan.entries[0]), edited)
        except codec.Malformed:
            continue
        if changed == prepared.plan.entries[0] or _same_but_for_order(changed, prepared.plan.entries[0]):
            continue
        world = prepared.fork()
        plan = seal(replace(world.plan, entries=(changed,)))
        try:
            outcome = world.apply(plan=parse_plan(plan_bytes(plan)))
        except Refused:
            outcome = ()
        assert not any(applied.is_deleted for applied in outcome), edited
        world.recover()
        assert lake_of(world) == before
        tried += 1
    assert tried > 100


def _names(tables: Any) -> set[Any]:
    return {table.get("name") for table in tables if isinstance(table, dict)} if isinstance(tables, list) else set()


def _same_but_for_order(one: Any, two: Any) -> bool:
    def plain(entry: Any) -> Any:
        child, parents = entry.child, entry.parents
        return (
            sorted(map(repr, child.files)), child.location, child.is_folder,
            [(sorted(map(repr, parent.files)), parent.location, parent.is_folder) for parent in parents],
            entry.recipe, entry.recipe_sha256, entry.expected, entry.column_mapping,
        )  # fmt: skip

    return bool(plain(one) == plain(two))


def test_a_recipe_that_makes_other_rows_is_rolled_back() -> None:
    world = memory_world(["a/small"])
    recipe = {"columns": ["id", "name", "n"], "modulus": 3, "rest": 1}
    entry = replace(world.plan.entries[0], recipe=recipe, recipe_sha256=recipe_digest(recipe))
    (applied,) = world.apply(plan=seal(replace(world.plan, entries=(entry,))))
    assert not applied.is_deleted and "differs from what its recipe rebuilds" in applied.because
    assert world.rows_at("a/small") == world.original["a/small"]


def test_a_plan_is_used_once_even_if_nothing_came_of_it() -> None:
    world = memory_world()
    world.apply()
    world.restore()
    with pytest.raises(Refused, match="used before, approved by Ann"):
        world.apply()


def test_a_stale_plan_is_refused_before_anything_is_touched() -> None:
    world = memory_world()
    world.files.append("other/part-0.rows", b'[5, "x", 5]\n')
    before = lake_of(world)
    with pytest.raises(Refused, match="has changed"):
        world.apply()
    assert lake_of(world) == before
    with world.lake() as lake:
        assert not lake.registry.plans  # refused plans are not used up


def test_a_plan_survives_the_way_through_a_file(tmp_path: Path) -> None:
    plan = memory_world().plan
    path = str(tmp_path / "plan.json")
    write_plan(plan, path)
    assert read_plan(path) == plan
    with pytest.raises(Refused, match="File exists"):
        write_plan(plan, path)
    pretty = json.dumps(json.loads(Path(path).read_text()), indent=2)
    assert parse_plan(pretty.encode()) == plan  # spelling is no edit
    with pytest.raises(Refused, match="cannot read the plan"):
        read_plan(str(tmp_path / "none.json"))


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff", b'{"a": NaN}', b'{"a": 1, "a": 1}', b"[" * 100_000])
def test_what_is_no_plan_is_refused(text: bytes) -> None:
    with pytest.raises(Refused):
        parse_plan(text)


def test_explaining_and_executing_read_the_same_list() -> None:
    plan = memory_world().plan
    kinds = [type(operation) for operation in operations(plan)]
    assert kinds == [CheckPlan, *[CheckTables] * 3, UsePlan, *[MoveAside] * 3, VerifyAside, *[Commit] * 3]
    assert len(explain(plan)) == len(kinds)
    assert all("a/small" in sentence for sentence in (explain(plan)[5], *explain(plan)[8:10]))


# --- hostile names

PIECES = [
    "..", ".", "", "/", "//", "\0", "~", "$HOME", "`id`", "$(id)", ";rm -rf /", "|", "&&", "*", "?", "[a]", "{a,b}",
    "\n", "\r", "\t", "\x1b[2J", "\\", "\\..\\", "%2e%2e", "%00", "‮", "﷽", "\udcff", "\ud800", "é", "e\u0301", "NUL",
    "con", "-rf", "--", " ", "a" * 256, "a" * 5000, "'", '"', "<script>", "=cmd()", "file:", "s3://x", "http://x",
    SAFETY, SAFETY.upper(), SAFETY + "/journal.jsonl", "..;", "....//", "part-0.rows", "{}", "\u2025", "\uff0e\uff0e",
]  # fmt: skip


def hostile_names(number: int) -> list[str]:
    chance = random.Random(31)
    names = set(PIECES)
    while len(names) < number:
        pieces = chance.choices(PIECES, k=chance.randint(1, 4))
        names.add(chance.choice(["", "/", "../"]).join(pieces) if chance.random() < 0.5 else "/".join(pieces))
    return sorted(names)


def test_2000_hostile_names_lead_nowhere() -> None:
    """Refused, or strictly below the root and outside the safety folder; in plans as in journals."""
    root, refused = "/lake", 0
    for name in hostile_names(2000):
        if why_unsafe(name):
            refused += 1
            with pytest.raises(Refused):
                check_path(name)
            continue
        there = os.path.normpath(os.path.join(root, name))
        assert there.startswith(root + "/") and not f"{there}/".startswith(f"{root}/{SAFETY}/")
        assert there == f"{root}/{name}"
        assert not overlaps(name, SAFETY)
    assert refused > 1000


@pytest.mark.slow
@pytest.mark.parametrize("where", ["location", "file"])
def test_2000_hostile_names_in_plans_touch_nothing(where: str) -> None:
    world = memory_world(["a/small"])
    before, entry = lake_of(world), world.plan.entries[0]
    for name in hostile_names(2000):
        if where == "location":
            child = replace(entry.child, location=name)
        else:
            child = replace(entry.child, files=(replace(entry.child.files[0], path=name), *entry.child.files[1:]))
        if child == entry.child:
            continue
        plan = seal(replace(world.plan, entries=(replace(entry, child=child),)))
        with pytest.raises(Refused):
            world.apply(plan=parse_plan(plan_bytes(plan)))
    assert lake_of(world) == before


def test_tables_with_hostile_but_legal_names_are_deleted_and_restored_as_any(fast_folder: Path) -> None:
    world = posix_world(fast_folder / "lake", ["b/copy"])
    recipe, entries, names = {"columns": ["id", "name", "n"], "modulus": 1, "rest": 0}, [], []
    source = world.plan.entries[0]
    for index, name in enumerate(hostile_names(400)):
        if why_unsafe(name) or len(os.fsencode(name)) > 200 or SAFETY in name.split("/"):  # that is another lake
            continue
        location = f"odd/{index}/{name}"
        folder = os.path.join(world.files.root, location)
        os.makedirs(folder)
        with open(os.path.join(folder, "part-0.rows"), "wb") as file:
            file.write(Path(world.files.root, "b/copy/part-0.rows").read_bytes())
        names.append(location)
    for location in names:
        child = see_table(world.files, location, location)
        entries.append(replace(source, child=child, recipe=recipe, recipe_sha256=recipe_digest(recipe)))
    assert len(entries) > 80
    plan = seal(replace(world.plan, entries=tuple(entries), lake_tables=10**6, lake_bytes=10**12))
    assert all(applied.is_deleted for applied in world.apply(plan=parse_plan(plan_bytes(plan))))
    assert not any(os.path.lexists(os.path.join(world.files.root, location)) for location in names)
    assert all(restored.is_restored for restored in world.restore())
    assert all(world.rows_at(location) == world.original["b/copy"] for location in names)


@given(st.lists(st.lists(st.sampled_from(["a", "b", "a-b", "a.b"]), min_size=1, max_size=4), max_size=8), st.data())
def test_places_are_found_as_comparing_all_pairs_finds_them(places: list[list[str]], data: st.DataObject) -> None:
    paths = ["/".join(parts) for parts in places]
    asked = "/".join(data.draw(st.lists(st.sampled_from(["a", "b", "a-b", "a.b"]), min_size=1, max_size=4)))
    found = Places((path, path) for path in paths).touching(asked)
    expected = {path for path in paths if overlaps(path, asked)}
    assert (found in expected) if expected else found is None


@given(st.lists(st.lists(st.sampled_from(["a", "b", "a-b"]), min_size=1, max_size=3), min_size=1, max_size=5))
def test_overlapping_children_are_found_as_comparing_all_pairs_finds_them(places: list[list[str]]) -> None:
    plan = memory_world(["a/small"]).plan
    entry, paths = plan.entries[0], ["/".join(parts) for parts in places]
    entries = tuple(replace(entry, child=replace(entry.child, location=path)) for path in paths)
    expected = any(overlaps(one, two) for one, two in combinations(paths, 2))
    try:
        refuse_overlapping(replace(plan, entries=entries))
    except Refused:
        assert expected
    else:
        assert not expected


def test_what_was_sealed_and_cannot_be_is_refused_all_the_same() -> None:
    plan = memory_world(["a/small"]).plan
    entry = plan.entries[0]
    files = entry.child.files
    for changed in (
        replace(plan, entries=()),
        replace(plan, plan_id="../x"),
        replace(plan, entries=(replace(entry, recipe_sha256="0" * 64),)),
        replace(plan, entries=(replace(entry, expected=replace(entry.expected, rows=1)),)),
        replace(plan, entries=(replace(entry, expected=replace(entry.expected, digest="")),)),
        replace(plan, entries=(replace(entry, child=replace(entry.child, files=())),)),
        replace(plan, entries=(replace(entry, child=replace(entry.child, files=(*files, files[0]))),)),
        replace(plan, entries=(replace(entry, child=replace(entry.child, is_folder=False)),)),
        replace(plan, entries=(replace(entry, child=replace(entry.child, files=(replace(files[0], sha256="F"),))),)),
        replace(
            plan,
            entries=(replace(entry, child=replace(entry.child, files=(replace(files[0], path="day=1"), *files[1:]))),),
        ),
    ):
        with pytest.raises(Refused):
            parse_plan(plan_bytes(seal(changed)))


def test_a_list_is_a_list() -> None:
    with pytest.raises(codec.Malformed, match="is not a list"):
        codec.decode(type(memory_world().plan), {**codec.encode(memory_world().plan), "entries": {}})


@given(*[st.integers(0, 40)] * 2, *[st.integers(0, 4000)] * 2)
def test_a_share_is_large_if_it_is_one_of_the_lake_as_stated_or_of_the_lake_as_counted(
    stated: int, counted: int, stated_bytes: int, counted_bytes: int
) -> None:
    plan = replace(memory_world().plan, lake_tables=stated, lake_bytes=stated_bytes)
    number, size = len(plan.entries), plan.size_bytes
    tables = any(number > LARGE_SHARE * of for of in (stated, counted))
    large = tables or any(size > LARGE_SHARE * of for of in (stated_bytes, counted_bytes))
    assert number_to_type(plan, LakeSize(counted, counted_bytes)) == (number if large else None)


def test_a_plan_can_be_read_by_its_owner_only_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    mask = os.umask(0)
    try:
        write_plan(memory_world().plan, str(path))
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o600  # recipes and bounds are values
