"""The contract of a table format: bytes become tables.

`r2d2.formats.registry` finds a format by the name that tables and slices carry. A format has no state and works on
the driver and on workers. Methods raise TableError with a reason for people. tests/contracts/test_format.py holds
every format to this.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from r2d2.formats.merge import FilesProfile
from r2d2.model.profile import Value
from r2d2.model.schema import Token
from r2d2.model.table import DataFile
from r2d2.stores.contract import Store

if TYPE_CHECKING:
    import pyarrow as pa

FileSlice = Mapping[str, Any]
"""A part of one file as plain JSON. `format` names the format, `path` and `file` the file and its version, `first` and
`rows` the rows (None: not known before reading), `bytes` their size, `partition` the values of the folder names with
their types, `fold` whether names of columns are folded to one case. A format may add fields of its own."""

Range = tuple[str, Value, Value]
"""The kind of value (`model.types.kind_of`), a value that none lies below, one that none lies above."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Limitations of a format, each as one sentence for people; empty where there is no such limitation."""

    without_statistics: str = ""
    """Nulls and bounds of columns are unknown until they are read."""
    without_row_counts: str = ""
    """The number of rows is unknown until they are read."""
    without_row_lists: str = ""
    """Rows have no lasting number in their file: a recipe cannot list them."""
    without_rebuild: str = ""
    """Tables are neither rebuilt exactly nor rebuilt from: plans leave them alone."""


class Claim(NamedTuple):
    """The claim of a format that a folder is one of its tables; of several the strongest wins."""

    format: str
    folder: str
    strength: int = 1


class TableFiles(NamedTuple):
    """The files of a table whose format keeps its own list of them."""

    files: tuple[DataFile, ...]
    unexplained: tuple[str, ...] = ()  # paths in its folder that are no part of it


class TableFormat(Protocol):
    """Finds, measures and reads the tables of one format."""

    @property
    def name(self) -> str:
        """Name in tables and slices: one of `registry.BUILT_IN`, or the module that holds the format."""

    @property
    def capabilities(self) -> Capabilities:
        """Limitations of the format."""

    @property
    def suffixes(self) -> Collection[str]:
        """Endings of file names, in lower case, that state this format."""

    @property
    def magics(self) -> Collection[bytes]:
        """First four bytes of its files, for files whose name states nothing."""

    def recognise(self, folder: str, names: Collection[str], store: Store) -> Claim | None:
        """Claim a folder, with these names in it, as one table; None leaves its files to the walk."""

    def describe(self, claim: Claim, store: Store) -> TableFiles:
        """List the files of a claimed folder."""

    def profile(self, path: str, store: Store) -> FilesProfile:
        """Read schema, rows and statistics of one file from its metadata; may kill or hang its process."""

    def slices(
        self, files: Iterable[DataFile], partition_types: Mapping[str, str], *, fold_case: bool = False
    ) -> Iterator[FileSlice]:
        """Cut files into parts, each small enough for one task."""

    def read(self, part: FileSlice, tokens: Iterable[Token]) -> dict[Token, pa.ChunkedArray]:
        """Read columns of one slice, all of one length; a column that its file lacks is NULL (HAZARDS 9)."""

    def range(self, part: FileSlice, token: Token) -> Range | None:
        """Bounds of a column in one slice, NULL and NaN aside; None if they are unknown."""
