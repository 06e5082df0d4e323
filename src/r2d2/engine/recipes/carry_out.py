"""Run recipes on slices of the parent, and sum hashes to compare the output with the child. Plain functions."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from r2d2.engine.kernels import Fingerprint, Hashes, block_of, fingerprint, merge
from r2d2.engine.recipes.arrow_types import cast_column
from r2d2.engine.recipes.cast import Columns, kept_rows
from r2d2.engine.recipes.row_order import look_at_order, place_sums
from r2d2.engine.rows.hash_slices import Hashing, failure, rows_at
from r2d2.engine.rows.table_content import known_rows
from r2d2.errors import TableError
from r2d2.model import recipe as recipes
from r2d2.model.recipe import Recipe
from r2d2.model.schema import Token
from r2d2.model.work import DistinctWork, Failed, PlaceSums, RebuildWork, ShippedSlice, SliceOrder, Summed, Wrong

Places = NDArray[np.int64]
Whose = tuple[Literal["recipe", "whole"], int]  # the rows of a recipe, or of a table, by its number


def rebuild(
    columns: Columns, recipe: Recipe, part: ShippedSlice, types: Mapping[Token, str], listed: bytes = b""
) -> Columns:
    """The child's columns from one slice of the parent; *listed* is the bitmap of its file, if rows are listed.

    `types` are the parent's. The caller applies `distinct`, since copies may be in several slices.
    """
    rows = known_rows(part)
    chosen: Columns = {output.source: columns[output.source] for output in recipe.columns}
    if recipe.rows is not None:
        chosen = rows_at(chosen, listed_places(listed, part))
    elif recipe.where is not None:
        chosen = rows_at(chosen, np.flatnonzero(kept_rows(columns, recipe.where, rows)))
    return {
        output.column.token: cast_column(
            chosen[output.source], output.column, types[output.source] == output.column.type_name
        )
        for output in recipe.columns
    }


def listed_places(bitmap: bytes, part: ShippedSlice) -> Places:
    """The listed rows of a file that are in this slice, counted from its first row."""
    from pyroaring import BitMap

    if not bitmap:
        return np.empty(0, np.int64)
    try:
        rows = np.asarray(BitMap.deserialize(bitmap).to_array(), dtype=np.int64)
    except (ValueError, TypeError) as error:
        raise TableError(f"the listed rows cannot be read ({error})") from error
    first, count = part["first"], known_rows(part)
    here: Places = rows[(rows >= first) & (rows < first + count)] - first
    return here


def rebuild_bundle(bundle: Sequence[RebuildWork], *, hashing: Hashing) -> Iterator[Summed | Wrong | Failed]:
    """Sum the hashes of each recipe's output over slices; on request also those of a table's own rows.

    `parts` has the sums of each slice for the comparison of sequences, `orders` the sort orders of a table's own
    slices.
    """
    sums: defaultdict[Whose, Fingerprint] = defaultdict(Fingerprint)
    parts: defaultdict[Whose, list[PlaceSums]] = defaultdict(list)
    orders: defaultdict[int, list[SliceOrder]] = defaultdict(list)

    def add(whose: Whose, part: ShippedSlice, hashes: Hashes) -> None:
        sums[whose] += fingerprint(hashes)
        parts[whose].append((part["path"], part["first"], *place_sums(hashes)))

    for piece in bundle:
        recipes_here = [_Asked(*asked) for asked in piece["recipes"]]
        whole = [tuple(token) for token in piece["whole"]]
        try:
            columns = hashing.read(
                piece["slice"], {*whole, *(t for asked in recipes_here for t in asked.recipe.sources)}
            )
            if whole:
                hashes = hashing.rows(columns, [whole])[0]
                own = {token: columns[token] for token in whole}
                orders[piece["table"]].append(look_at_order(own, piece["slice"], piece["asked"]))
                add(("whole", piece["table"]), piece["slice"], hashes)
        except TableError as error:
            yield failure(piece["table"], error)
            continue
        for asked in recipes_here:
            try:
                made = asked.carried_out(columns, piece, hashing)
            except TableError as error:  # this recipe fails; the table itself is readable
                yield _wrong(asked.number, error)
            else:
                add(("recipe", asked.number), piece["slice"], made)
    for whose, total in sums.items():
        yield _summed(whose, total, parts[whose], orders[whose[1]] if whose[0] == "whole" else ())


def _wrong(recipe: int, error: TableError) -> Wrong:
    return {"kind": "wrong", "recipe": recipe, "because": str(error.args[0])}


def _summed(
    whose: Whose, total: Fingerprint, parts: Sequence[PlaceSums] = (), orders: Sequence[SliceOrder] = ()
) -> Summed:
    return {
        "kind": "sum",
        "of": whose[0],
        "number": whose[1],
        "sum": (total.rows, total.first, total.second),
        "parts": parts,
        "orders": orders,
    }


class _Asked:
    """One recipe to run on a slice."""

    def __init__(self, number: int, data: object, bitmap: str) -> None:
        self.number = number
        self.recipe = recipes.from_json(data)
        self._listed = base64.b64decode(bitmap)

    def carried_out(self, columns: Columns, piece: RebuildWork, hashing: Hashing) -> Hashes:
        """The hashes of the output rows, in order."""
        output = rebuild(columns, self.recipe, piece["slice"], _types(piece), self._listed)
        return hashing.rows(output, [list(output)])[0]


def _types(piece: RebuildWork | DistinctWork) -> dict[Token, str]:
    return {tuple(token): name for token, name in piece["types"]}


def distinct_bundle(bundle: Sequence[DistinctWork], *, hashing: Hashing) -> Iterator[Summed | Wrong]:
    """Run distinct recipes and sum the hashes of their output; all slices of a parent come in one piece."""
    for piece in bundle:
        ((number, data, _),) = piece["recipes"]
        recipe, block = recipes.from_json(data), merge([])
        try:
            for part in piece["slices"]:
                output = rebuild(hashing.read(part, recipe.sources), recipe, part, _types(piece))
                (hashes,) = hashing.rows(output, [list(output)])
                block = merge([block, block_of(hashes)])
                if block.distinct_rows > piece["most"]:
                    break
        except TableError as error:
            yield _wrong(number, error)
            continue
        yield _summed(("recipe", number), fingerprint(block.hashes))
