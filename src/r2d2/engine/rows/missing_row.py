"""One row of a child that its parent lacks, with its values: what a person asks for who doubts a verdict.

No Spark: it is one pair, asked for by hand, and starting Spark takes longer than reading most pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from r2d2.engine.kernels.mixing import Words
from r2d2.engine.rows.hash_slices import Columns, Hashing
from r2d2.engine.rows.table_content import TableContent
from r2d2.engine.rows.value_text import value_text
from r2d2.model.schema import Token

ROWS_AT_ONCE = 32 << 20  # of the parent, 8 bytes each; beyond, both tables are read once for each share of the hashes


def find_missing_row(
    *, parent: TableContent, child: TableContent, tokens: Sequence[Token], hashing: Hashing
) -> dict[Token, str | None] | None:
    """The values, as text, of a row of the child that is not in the parent in these columns; None if each is."""
    shares = 1 + parent.rows // ROWS_AT_ONCE
    for share in range(shares):
        held = _sorted_words(parent, tokens, hashing, share, shares)
        for columns, words in _hashed(child, tokens, hashing):
            mine = np.flatnonzero(words % np.uint64(shares) == np.uint64(share))
            missing = mine[~_is_among(words[mine], held)]
            if len(missing):
                return {token: value_text(columns[token][int(missing[0])]) for token in tokens}
    return None


def _hashed(content: TableContent, tokens: Sequence[Token], hashing: Hashing) -> Iterator[tuple[Columns, Words]]:
    """Slice by slice its columns and half of each row's hash: rows that differ there are different for certain."""
    for part in content.slices:
        columns = hashing.read(part, tokens)
        (hashes,) = hashing.rows(columns, [tokens])
        yield columns, hashes[0]


def _sorted_words(content: TableContent, tokens: Sequence[Token], hashing: Hashing, share: int, shares: int) -> Words:
    words = [w[w % np.uint64(shares) == np.uint64(share)] for _, w in _hashed(content, tokens, hashing)]
    return np.unique(np.concatenate([np.empty(0, dtype=np.uint64), *words]))


def _is_among(words: Words, held: Words) -> NDArray[np.bool_]:
    if not len(held):
        return np.zeros(len(words), dtype=bool)
    places = np.minimum(np.searchsorted(held, words), len(held) - 1)
    found: NDArray[np.bool_] = held[places] == words
    return found
