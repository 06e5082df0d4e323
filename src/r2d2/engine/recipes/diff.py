"""Compare the rows of a recipe with the child's: counts of the differences, and examples on request. One task an edge.

Holds the hashes of the child's rows and of those made, 16 bytes each.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from r2d2.engine.kernels import HashBlock, Hashes, block_of, common_rows, find_missing, merge
from r2d2.engine.recipes.carry_out import rebuild
from r2d2.engine.recipes.cast import Columns
from r2d2.engine.rows.hash_slices import Hashing, rows_at
from r2d2.errors import TableError
from r2d2.model import recipe as recipes
from r2d2.model.schema import Token, spell
from r2d2.model.work import Differs, DifferWork, Wrong

LONGEST_VALUE = 200  # characters of a value in an example


def differ_bundle(bundle: Sequence[DifferWork], *, hashing: Hashing) -> Iterator[Differs | Wrong]:
    """Count the output rows and those too many or too few, with some examples of either."""
    for piece in bundle:
        try:
            yield _difference(piece, hashing)
        except TableError as error:
            yield {"kind": "wrong", "recipe": 0, "because": str(error.args[0])}


def _difference(piece: DifferWork, hashing: Hashing) -> Differs:
    made = merge([block_of(_hashed(columns, hashing)) for columns in _made(piece, hashing)])
    child = merge([block_of(_hashed(columns, hashing)) for columns in _own(piece, hashing)])
    if piece["distinct"]:
        made = HashBlock(made.hashes)
    more, fewer = find_missing(child=made, parent=child).copies, find_missing(child=child, parent=made).copies
    answer: Differs = {"kind": "difference", "rows": made.rows, "too_many": more, "too_few": fewer}
    if piece["examples"]:
        answer["example_too_many"] = _examples(_made(piece, hashing), _excess(made, child), piece["examples"], hashing)
        answer["example_too_few"] = _examples(_own(piece, hashing), _excess(child, made), piece["examples"], hashing)
    return answer


def _made(piece: DifferWork, hashing: Hashing) -> Iterator[Columns]:
    types = {tuple(token): name for token, name in piece["types"]}
    for part, listed in zip(piece["slices"], piece["listed"], strict=True):
        recipe = recipes.from_json(piece["recipe"])
        columns = hashing.read(part, recipe.sources)
        yield rebuild(columns, recipe, part, types, base64.b64decode(listed))


def _own(piece: DifferWork, hashing: Hashing) -> Iterator[Columns]:
    tokens: list[Token] = [tuple(token) for token in piece["child"]["tokens"]]
    for part in piece["child"]["slices"]:
        yield hashing.read(part, tokens)


def _hashed(columns: Columns, hashing: Hashing) -> Hashes:
    return hashing.rows(columns, [sorted(columns)])[0]


def _excess(of: HashBlock, over: HashBlock) -> Hashes:
    """Hashes of the rows that *of* has more often than *over*."""
    here, there = common_rows(child=of, parent=over)
    enough = of.counts_at(here) <= over.counts_at(there)
    return np.delete(of.hashes, here[enough], axis=1)


def _examples(parts: Iterator[Columns], wanted: Hashes, most: int, hashing: Hashing) -> list[Mapping[str, str | None]]:
    """Some rows with these hashes, each once."""
    found: dict[tuple[int, int], Mapping[str, str | None]] = {}
    asked = set(zip(wanted[0].tolist(), wanted[1].tolist(), strict=True))
    for columns in parts:
        first, second = _hashed(columns, hashing)
        for place in np.flatnonzero(np.isin(first, wanted[0])).tolist():
            key = int(first[place]), int(second[place])
            if key in asked and key not in found:
                found[key] = _shown(rows_at(columns, [place]))
            if len(found) >= most:
                return list(found.values())
    return list(found.values())


def _shown(row: Columns) -> Mapping[str, str | None]:
    values = {spell(token): column.to_pylist()[0] for token, column in row.items()}
    return {name: None if value is None else str(value)[:LONGEST_VALUE] for name, value in values.items()}
