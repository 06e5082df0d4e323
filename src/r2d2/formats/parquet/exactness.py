"""Exactness flags of a Parquet footer: does each stated minimum and maximum occur in its column? (HAZARDS 39)

pyarrow 26 reads these flags and does not show them, so they are parsed here.
"""

from __future__ import annotations

from collections.abc import Sequence

from r2d2.formats.parquet.footer_thrift import footer_struct
from r2d2.formats.parquet.thrift import BOOL, LIST, STRUCT, Fields

Flags = tuple[bool | None, bool | None]
"""Whether the minimum and the maximum are exact, as far as the footer says."""

NO_FLAGS: Flags = (None, None)

_STATISTICS: Fields = {7: (BOOL, None), 8: (BOOL, None)}
_COLUMN_CHUNK: Fields = {3: (STRUCT, {12: (STRUCT, _STATISTICS)})}
_FILE: Fields = {4: (LIST, {1: (LIST, _COLUMN_CHUNK)})}  # row groups, and in each its column chunks


class Exactness:
    """Flags of one file, by row group and column; none where the footer states none."""

    def __init__(self, row_groups: Sequence[Sequence[Flags]] = ()) -> None:
        self._row_groups = row_groups

    def of(self, row_group: int, leaf: int) -> Flags:
        """Flags of one column chunk."""
        if row_group >= len(self._row_groups) or leaf >= len(self._row_groups[row_group]):
            return NO_FLAGS
        return self._row_groups[row_group][leaf]


def read_exactness(path: str) -> Exactness:
    """Read the flags of a file; a footer that the strict parser refuses has none."""
    footer = footer_struct(path, _FILE)
    return Exactness([[_flags(chunk) for chunk in group.get(1, ())] for group in footer.get(4, ())])


def _flags(chunk: dict[int, dict[int, dict[int, bool]]]) -> Flags:
    stats = chunk.get(3, {}).get(12, {})
    return stats.get(8), stats.get(7)
