"""What safety needs of whoever can read tables. It never reads rows itself; these come in as arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from r2d2.safety.plan import Content


@dataclass(frozen=True, slots=True)
class Placed:
    """A table where it lies now. Exactly these files are to be read, whatever else lies there (HAZARDS 7, 8)."""

    path: str  # absolute: its folder, or the file
    files: tuple[str, ...]  # those that hold rows, below path; ('',) if the table is one file
    # In quarantine a table's name is a hash, without extension: the format is for the recipe to say.


@dataclass(frozen=True, slots=True)
class Comparison:
    """What comparing every row by value said."""

    differs: str  # one sentence, '' if rows, copies and schema are the same
    content: Content  # of the table that was compared


class Rebuilder(Protocol):
    """Reads tables, runs recipes, compares by values. Raise R2D2Error for what cannot be done; never guess."""

    def verify(self, *, recipe: Mapping[str, Any], parent: Placed, child: Placed) -> Comparison:
        """Run the recipe on the parent and compare with the child: every row with its copies, and the schema."""

    def rebuild(self, *, recipe: Mapping[str, Any], parent: Placed, into: str, one_file: bool) -> tuple[str, ...]:
        """Write what the recipe makes of the parent into the empty folder *into*; as one file if that is asked.

        Returns the files, below *into*. Nothing else may be left there: what is not named is not trusted.
        """

    def compare(self, *, rebuilt: Placed, child: Placed) -> Comparison:
        """Compare two tables on disk: every row with its copies, and the schema. The content is the rebuilt one's."""

    def measure(self, table: Placed) -> Content:
        """Counts and digest of a table on disk. The digest depends on rows and schema, not on files or order."""
