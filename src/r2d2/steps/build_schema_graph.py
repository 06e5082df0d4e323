"""All pairs of tables where the parent's schema holds the child's (SGB, section 4.1).

A column *needs* its name and kind in the parent if it is known to hold a value; a column that may be all NULL
needs the name only, since a NULL is the same NULL whatever the type (docs/row-identity.md). A parent *holds*
both. So a pair is missed only if some value of the child can have no equal in the parent.

Equal schemas are collapsed into families; the families that hold a given one are the intersection of the
inverted index's lists for its tokens, rarest token first.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from pyroaring import BitMap

from r2d2.model.containment import EXACT_SET, Containment
from r2d2.model.graph import SchemaGraph, SchemaOperations
from r2d2.model.profile import TableProfile
from r2d2.model.schema import Column
from r2d2.steps.edges.bounds import witnesses


def build_schema_graph(profiles: Sequence[TableProfile], containment: Containment = EXACT_SET) -> SchemaGraph:
    """Every pair with child.schema ⊆ parent.schema, both directions on equal schemas; misses none."""
    members = _collapse(witnesses(profiles, containment))
    needs, holds = _number_tokens(members)
    index = _invert(holds)
    parents, children, lookups = _find_supersets(needs, index)
    sizes = [len(tables) for tables in members.values()]
    keep = [p != c or sizes[p] > 1 for p, c in zip(parents, children, strict=True)]
    parents = array("I", (p for p, kept in zip(parents, keep, strict=True) if kept))
    children = array("I", (c for c, kept in zip(children, keep, strict=True) if kept))
    return SchemaGraph(
        tables=tuple(profile.table for profile in profiles),
        families=tuple(members.values()),
        parents=parents,
        children=children,
        operations=_count_operations(sizes, parents, children, lookups),
    )


def schema_mismatch(*, parent: TableProfile, child: TableProfile, containment: Containment = EXACT_SET) -> str | None:
    """Why the parent's schema does not hold the child's, in one sentence; None if it does. The one-pair form."""
    kinds = {column.token: column for column in parent.schema.columns}
    missing = [str(column) for column in child.schema.columns if column.token not in kinds]
    if missing:
        return f"the parent has no column {_listed(missing)}"
    (child,) = witnesses([child], containment)
    for column, holds_value in zip(child.schema.columns, child.known_values(), strict=True):
        other = kinds[column.token]
        if other.kind != column.kind and holds_value:
            return f"column {column} is {column.type_name} in the child and {other.type_name} in the parent"
    return None


def _listed(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


FamilyKey = tuple[tuple[Column, ...], bytes]


def _collapse(profiles: Sequence[TableProfile]) -> Mapping[FamilyKey, array[int]]:
    """Tables by what their schemas need and hold."""
    families: defaultdict[FamilyKey, array[int]] = defaultdict(lambda: array("I"))
    for number, profile in enumerate(profiles):
        families[profile.schema.columns, profile.known_values()].append(number)
    return families


def _number_tokens(families: Mapping[FamilyKey, array[int]]) -> tuple[list[list[int]], list[list[int]]]:
    """Needs and holdings of each family as numbers: one for a token of any kind, one for each kind of it."""
    numbers: defaultdict[tuple[object, ...], int] = defaultdict(lambda: len(numbers))
    distinct = dict.fromkeys(column for columns, _ in families for column in columns)
    typed = {column: numbers[column.token, column.kind] for column in distinct}
    anyhow = {
        column.token: numbers[column.token, None]
        for columns, known in families
        if not all(known)
        for column, sure in zip(columns, known, strict=True)
        if not sure
    }
    needs = [
        [typed[c] if sure else anyhow[c.token] for c, sure in zip(columns, known, strict=True)]
        for columns, known in families
    ]
    holds = [[typed[c] for c in columns] for columns, _ in families]
    if anyhow:
        for held, (columns, _) in zip(holds, families, strict=True):
            held.extend(anyhow[c.token] for c in columns if c.token in anyhow)
    return needs, holds


def _invert(holds: list[list[int]]) -> dict[int, BitMap]:
    """The families that hold each token."""
    lengths = np.fromiter(map(len, holds), dtype=np.int64, count=len(holds))
    tokens = np.fromiter((t for held in holds for t in held), dtype=np.uint32, count=int(lengths.sum()))
    families = np.repeat(np.arange(len(holds), dtype=np.uint32), lengths)
    order = np.argsort(tokens, kind="stable")
    by_token = families[order]
    distinct, starts, counts = np.unique(tokens[order], return_index=True, return_counts=True)
    return {
        int(token): BitMap(by_token[start : start + count])
        for token, start, count in zip(distinct, starts, counts, strict=True)
    }


def _find_supersets(needs: list[list[int]], index: Mapping[int, BitMap]) -> tuple[array[int], array[int], int]:
    """Every (parent, child) pair of families, and how many lists were intersected to find them."""
    frequency = {token: len(families) for token, families in index.items()}
    everyone = BitMap(range(len(needs)))
    parents, children, lookups = array("I"), array("I"), 0
    for child, tokens in enumerate(needs):
        found = everyone
        if tokens:
            rarest_first = sorted(tokens, key=frequency.__getitem__)
            found = index[rarest_first[0]]
            for token in rarest_first[1:]:
                if len(found) == 1:  # only the family itself is left
                    break
                found = found & index[token]
                lookups += 1
        parents.extend(found)
        children.extend([child] * len(found))
    return parents, children, lookups


def _count_operations(
    sizes: Sequence[int], parents: array[int], children: array[int], lookups: int
) -> SchemaOperations:
    """Table 3: N(N−1)/2 for brute force, N log N + K(N−K) + Σ Kᵢ(Kᵢ−1)/2 for SGB as printed."""
    held_by: defaultdict[int, set[int]] = defaultdict(set)
    for parent, child in zip(parents, children, strict=True):
        held_by[child].add(parent)
    centers = [
        family
        for family in range(len(sizes))
        if all(parent >= family and family in held_by[parent] for parent in held_by[family] - {family})
    ]
    cluster = dict.fromkeys(centers, 0)
    for family, size in enumerate(sizes):
        for parent in held_by[family] | {family}:
            if parent in cluster:
                cluster[parent] += size
    n, k = sum(sizes), len(centers)
    return SchemaOperations(
        tables=n,
        families=len(sizes),
        centers=k,
        brute_force=math.comb(n, 2),
        clusters=round(n * math.log2(n) if n else 0)
        + k * (n - k)
        + sum(math.comb(size, 2) for size in cluster.values()),
        index=lookups,
    )
