"""One physical table is one table, whatever its names (HAZARDS 1): links, hard links, mounts, nesting."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from r2d2.lake.found import Draft, Found, FoundLink
from r2d2.lake.listing import paths_above, printable
from r2d2.lake.recognise import is_passed_over
from r2d2.lake.roots import Root
from r2d2.model.table import Table

Pairs = frozenset[tuple[str, str]]


def resolve_links(found: Found, roots: Sequence[Root]) -> None:
    """Give each table the names that links add, and name the links that add none."""
    drafts = {draft.location: draft for draft in found.drafts}
    locations = sorted(drafts)
    for link in found.links:
        because = _why_not_followed(link, roots)
        if not because:
            targets = _at_or_below(link.link.target, locations)
            for location in targets:
                below = location.removeprefix(link.link.target).replace(os.sep, "/")
                drafts[location].aliases.append(link.name + below)
            because = "" if targets else _what_it_leads_to(link.link.target, drafts)
        if because and not is_passed_over(link.link.name):
            found.notice(link.name, because)


def find_overlaps(tables: Iterable[Table]) -> Pairs:
    """The pairs of names, in order, of tables that share a file or lie one in the other's folder."""
    tables = list(tables)
    at = {table.location: table.name for table in tables}
    holders: dict[str, set[str]] = defaultdict(set)
    pairs: set[tuple[str, str]] = set()
    above: dict[str, list[str]] = {}  # by folder: the tables that it lies in; most folders hold many tables
    for table in tables:
        for file in table.files:
            holders[file.version.identity].add(table.name)
        folder = os.path.dirname(table.location)
        if folder not in above:
            above[folder] = [at[path] for path in paths_above(table.location) if path in at]
        pairs.update(_pair(name, table.name) for name in above[folder])
    for names in holders.values():
        if len(names) > 1:
            pairs.update(combinations(sorted(names), 2))
    return frozenset(pairs)


def merge_same(tables: Iterable[Table], overlaps: Pairs) -> tuple[list[Table], Pairs]:
    """Tables made of the same physical files become one, under the name that sorts first."""
    same: dict[object, list[Table]] = defaultdict(list)
    for table in sorted(tables, key=lambda table: table.name):
        same[_physical(table)].append(table)
    kept = {names[0].name: names for names in same.values()}
    canonical = {table.name: first for first, group in kept.items() for table in group}
    moved = {_pair(canonical[one], canonical[two]) for one, two in overlaps}
    return [_as_one(group) for group in kept.values()], frozenset(pair for pair in moved if pair[0] != pair[1])


def _physical(table: Table) -> object:
    """Equal for tables of the same files. Size and time too: not every file system tells its files apart."""
    files = ((f.version.identity, f.size_bytes, f.modified_ns, repr(f.partition)) for f in table.files)
    return tuple(sorted(files))


def _as_one(group: Sequence[Table]) -> Table:
    first, *others = group
    aliases = {alias for table in group for alias in table.aliases} | {table.name for table in others}
    return replace(first, aliases=tuple(sorted(aliases)))


def _pair(one: str, two: str) -> tuple[str, str]:
    return (one, two) if one < two else (two, one)


def _why_not_followed(found: FoundLink, roots: Sequence[Root]) -> str:
    link = found.link
    if link.error:
        return f"is a link that {link.error}; it was not followed"
    if not any(root.holds(link.target) for root in roots):
        return f"is a link that leads out of the lake, to {printable(link.target)}; it was not followed"
    if os.path.join(found.folder_path, "").startswith(os.path.join(link.target, "")):
        return "is a link that leads in a circle, to a folder above it; it was not followed"
    return ""


def _what_it_leads_to(target: str, drafts: Mapping[str, Draft]) -> str:
    for path in paths_above(target):
        if path in drafts:
            return f"is a link into the table {drafts[path].name}; it was not followed"
    return f"is a link to {printable(target)}, where no table was found"


def _at_or_below(target: str, locations: Sequence[str]) -> list[str]:
    """The locations at a path and below it."""
    below = os.path.join(target, "")
    first = bisect_left(locations, below)
    found = [target] if _holds(locations, target) else []
    for location in locations[first:]:
        if not location.startswith(below):
            break
        found.append(location)
    return found


def _holds(locations: Sequence[str], path: str) -> bool:
    index = bisect_left(locations, path)
    return index < len(locations) and locations[index] == path
