"""Plain Parquet files behind the contract of formats. Importing this loads no pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from r2d2.formats.contract import Capabilities, FileSlice, Range
from r2d2.formats.files import FileFormat
from r2d2.formats.merge import FilesProfile
from r2d2.formats.parquet import NAME
from r2d2.model.schema import Token
from r2d2.model.table import DataFile
from r2d2.stores.contract import Store

if TYPE_CHECKING:
    import pyarrow as pa


class Parquet(FileFormat):
    """Parquet files: footers have rows and statistics, row groups are read apart, tables may be rebuilt exactly."""

    name = NAME
    suffixes = ("parquet", "parq", "pq")
    magics = (b"PAR1", b"PARE")  # PARE: its footer is encrypted, which the footer's reader says
    capabilities = Capabilities()

    def profile(self, path: str, store: Store) -> FilesProfile:
        """Read the footer; pyarrow opens local paths itself, without the store."""
        from r2d2.formats.parquet.footer import read_footer

        return read_footer(path)

    def slices(
        self, files: Iterable[DataFile], partition_types: Mapping[str, str], *, fold_case: bool = False
    ) -> Iterator[FileSlice]:
        """Cut files into runs of row groups."""
        from r2d2.formats.parquet.read import slices

        return slices(files, partition_types, fold_case=fold_case)

    def read(self, part: FileSlice, tokens: Iterable[Token]) -> dict[Token, pa.ChunkedArray]:
        """Read columns by Polars or pyarrow, whichever suits their types."""
        from r2d2.formats.parquet.read import read_slice

        return read_slice(part, tokens)

    def range(self, part: FileSlice, token: Token) -> Range | None:
        """Bounds from the statistics of the row groups."""
        from r2d2.formats.parquet.ranges import slice_range

        return slice_range(part, token)


FORMAT = Parquet()
