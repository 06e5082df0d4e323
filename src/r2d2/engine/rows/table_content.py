"""Where the rows of a table are."""

from __future__ import annotations

from dataclasses import dataclass

from r2d2.model.schema import Column, Token
from r2d2.model.work import FileSlice


@dataclass(frozen=True, slots=True)
class TableContent:
    """Where the rows of a table are, and its columns."""

    slices: tuple[FileSlice, ...]
    columns: tuple[Column, ...]
    location: str = ""  # its folder, or its one file
    name: str = ""

    @property
    def tokens(self) -> list[Token]:
        """All its columns."""
        return [column.token for column in self.columns]

    @property
    def rows(self) -> int:
        """All its rows."""
        return sum(part["rows"] for part in self.slices)
