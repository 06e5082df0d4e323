"""What safety needs of whoever can read tables. It never reads rows itself; these come in as arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from r2d2.errors import R2D2Error
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


@dataclass(frozen=True, slots=True)
class Verify:
    """Is the child what the recipe makes of its parents?"""

    recipe: Mapping[str, Any]
    parents: tuple[Placed, ...]
    child: Placed


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Write what the recipe makes of the parents into the empty folder *into*; as one file if that is asked."""

    recipe: Mapping[str, Any]
    parents: tuple[Placed, ...]
    into: str
    one_file: bool


@dataclass(frozen=True, slots=True)
class Compare:
    """Are two tables on disk the same?"""

    rebuilt: Placed
    child: Placed


class Rebuilder(Protocol):
    """Reads tables, runs recipes, compares by values. It is asked about many tables at once, and may read them so.

    It answers for each table by itself, in the order asked: with an R2D2Error for what cannot be done, never with a
    guess. No table is refused for what is wrong with another.
    """

    def verify_many(self, asked: Sequence[Verify]) -> Sequence[Comparison | R2D2Error]:
        """Run each recipe on its parents and compare with the child: every row with its copies, and the schema."""

    def rebuild_many(self, asked: Sequence[Rebuild]) -> Sequence[tuple[str, ...] | R2D2Error]:
        """Run each recipe and write what it makes. Returns the files, below the folder that was given.

        Nothing else may be left there: what is not named is not trusted.
        """

    def compare_many(self, asked: Sequence[Compare]) -> Sequence[Comparison | R2D2Error]:
        """Compare: every row with its copies, and the schema. The content is the rebuilt one's."""

    def measure_many(self, tables: Sequence[Placed]) -> Sequence[Content | R2D2Error]:
        """Counts and digest of tables on disk. The digest depends on rows and schema, not on files or order."""
