"""Where the rows of a table are."""

from __future__ import annotations

import os
from dataclasses import dataclass

from r2d2.errors import TableError
from r2d2.model.schema import Column, Token
from r2d2.model.work import ShippedSlice

BYTES_PER_UNKNOWN_ROW = 16  # assumed where a slice does not know its rows


@dataclass(frozen=True, slots=True)
class TableContent:
    """Where the rows of a table are, and its columns."""

    slices: tuple[ShippedSlice, ...]
    columns: tuple[Column, ...]
    location: str = ""  # its folder, or its one file
    name: str = ""

    @property
    def tokens(self) -> list[Token]:
        """All its columns."""
        return [column.token for column in self.columns]

    @property
    def rows(self) -> int:
        """All its rows, about, where a slice does not know its own."""
        return sum(map(about_rows, self.slices))


def about_rows(part: ShippedSlice) -> int:
    """Rows of a slice, to judge how much memory they take; a guess on the high side where they are unknown."""
    return part["bytes"] // BYTES_PER_UNKNOWN_ROW + 1 if part["rows"] is None else part["rows"]


def known_rows(part: ShippedSlice) -> int:
    """Rows of a slice; TableError where they are unknown."""
    if part["rows"] is None:
        raise TableError(f"{os.path.basename(part['path'])} does not say how many rows it has")
    return part["rows"]
