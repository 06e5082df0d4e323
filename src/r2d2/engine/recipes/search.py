"""Task that finds recipes: read a child's row hashes, label the parent's rows, search a predicate, try it.

A bounded sample of the parent's rows is kept: whole groups of equal rows that the child has, and some rows that it
does not have, both chosen by hash. A predicate found on them is tried on all rows; the rows on which it errs join the
sample, and the search is repeated. Without a predicate, rows are listed. Plain functions: tests need no Spark.
"""

from __future__ import annotations

import base64
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from r2d2.engine.recipes.cast import kept_rows
from r2d2.engine.recipes.labelled_rows import OUTSIDE, Groups, Parent, Wanted
from r2d2.engine.recipes.sample import Condition, Held
from r2d2.engine.rows.hash_slices import Hashing, failure
from r2d2.engine.rows.table_content import known_rows
from r2d2.errors import TableError
from r2d2.model import predicate as predicates
from r2d2.model.predicate import Predicate
from r2d2.model.work import Failed, FoundPredicate, FoundRows, ListedRows, SearchWork

if TYPE_CHECKING:
    from pyroaring import BitMap

ROUNDS = 5
Found = FoundPredicate | FoundRows
FindBoxes = Callable[..., Sequence[Sequence[Condition]] | None]  # see r2d2.steps.predicates.search
"""Called with codes, group, number, wanted and in_child; returns boxes of conditions on columns by number."""


def search_bundle(bundle: Sequence[SearchWork], *, hashing: Hashing, find: FindBoxes) -> Iterator[Found | Failed]:
    """Find for each child of each parent a predicate, or a list of rows, that rebuilds it."""
    for piece in bundle:
        parent = Parent(piece["slices"], [tuple(token) for token in piece["tokens"]], hashing)
        for child in piece["children"]:
            try:
                wanted = Wanted.read(child, hashing)
            except TableError as error:
                yield failure(child["table"], error)
                continue
            pair = piece["table"], child["table"]
            try:
                answer = _search(pair, parent, wanted, find)
            except TableError as error:
                yield failure(piece["table"], error)
                break
            yield answer


def _search(pair: tuple[int, int], parent: Parent, wanted: Wanted, find: FindBoxes) -> Found:
    """A predicate if one is found, else a list of rows."""
    held = Held(parent, wanted)
    for part, columns in parent.parts(parent.tokens):
        held.add(columns, parent.hashes(columns, wanted.tokens), known_rows(part))
    predicate = _by_predicate(parent, wanted, held, find, distinct=False)
    if predicate is not None:
        return _found(pair, predicate, distinct=False)
    if len(wanted.counts) and wanted.counts.max() == 1 and held.has_copies():
        predicate = _by_predicate(parent, wanted, held, find, distinct=True)
        if predicate is not None:
            return _found(pair, predicate, distinct=True)
    return {"kind": "rows", "parent": pair[0], "child": pair[1], "rows": _listed(parent, wanted)}


def _found(pair: tuple[int, int], predicate: Predicate, *, distinct: bool) -> FoundPredicate:
    where = predicates.to_json(predicate)
    return {"kind": "predicate", "parent": pair[0], "child": pair[1], "where": where, "distinct": distinct}


def _by_predicate(parent: Parent, wanted: Wanted, held: Held, find: FindBoxes, *, distinct: bool) -> Predicate | None:
    for _ in range(ROUNDS):
        question = held.question(distinct=distinct)
        boxes = find(**question.given)
        if boxes is None:
            return None
        predicate = question.predicate(boxes)
        errors = _errors(parent, wanted, predicate, distinct=distinct)
        if errors is None:
            return predicate
        if not held.add_errors(predicate, errors):
            return None
    return None


def _errors(parent: Parent, wanted: Wanted, predicate: Predicate, *, distinct: bool) -> Groups | None:
    """The groups of which the predicate keeps too few or too many; None if it is exact, also for rows outside."""
    tokens = sorted({*wanted.tokens, *(leaf.column for leaf in predicates.leaves(predicate))})
    picked = np.zeros(len(wanted.hashes), np.int64)
    outside = False
    for part, columns in parent.parts(tokens):
        kept = kept_rows(columns, predicate, known_rows(part))
        groups = wanted.groups(parent.hashes(columns, wanted.tokens)[kept])
        picked += np.bincount(groups[groups >= 0], minlength=len(picked))
        outside = outside or bool((groups == OUTSIDE).any())
    wrong = np.flatnonzero((picked == 0) if distinct else (picked != wanted.counts))
    return wrong if outside or len(wrong) else None


def _listed(parent: Parent, wanted: Wanted) -> list[ListedRows]:
    """The listed rows by file: of equal rows the first ones, as many as the child has."""
    from pyroaring import BitMap

    missing = wanted.counts.copy()
    files: dict[str, BitMap] = {}
    for part, columns in parent.parts(wanted.tokens):
        groups = wanted.groups(parent.hashes(columns, wanted.tokens))
        places = np.flatnonzero(groups >= 0)
        order = places[np.argsort(groups[places], kind="stable")]
        ordered = groups[order]
        nth = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
        taken = order[nth < missing[ordered]]
        missing -= np.minimum(missing, np.bincount(ordered, minlength=len(missing)))
        bitmap = files.setdefault(part["path"], BitMap())  # |= changes it in place
        bitmap |= BitMap(array("I", (taken + part["first"]).astype(np.uint32).tobytes()))
    return [
        (path, len(bitmap), base64.b64encode(_compact(bitmap)).decode()) for path, bitmap in files.items() if bitmap
    ]


def _compact(bitmap: BitMap) -> bytes:
    bitmap.run_optimize()
    return bytes(bitmap.serialize())
