"""The contract that each table format fills, and the formats there are.

Finding tables is the walk of `discover`, which asks `recognise` what a folder is; its answer names a source. All
methods of a source run on Spark's workers too: a source has no state, and everything it takes can be pickled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from r2d2.formats.merge import FilesProfile
from r2d2.model.table import Table

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of one file, small enough for one task."""

    path: str
    row_groups: tuple[int, ...]
    rows: int
    size_bytes: int


class Source(Protocol):
    """How tables of one format are told apart, measured and read."""

    name: str

    def version(self, table: Table) -> str:
        """A fingerprint that changes whenever the table does."""

    def profile_file(self, path: str) -> FilesProfile:
        """Schema, rows and statistics of one file, from its metadata; raises TableError with the reason."""

    def slices(self, profile: FilesProfile, *, max_bytes: int) -> Iterator[Slice]:
        """The files cut into parts of about *max_bytes* at most."""

    def read_slice(self, part: Slice, columns: Sequence[str] | None) -> pa.Table:
        """The rows of one part, with these top-level columns (None: all)."""


def source_named(name: str) -> Source:
    """The source that reads tables of this format."""
    from r2d2.formats.parquet.footer import ParquetSource

    sources: dict[str, Source] = {"parquet": ParquetSource()}
    return sources[name]
