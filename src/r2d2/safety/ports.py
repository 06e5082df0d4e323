"""What safety needs of whoever can read tables. It never reads rows itself; these come in as arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from r2d2.errors import R2D2Error
from r2d2.model.rebuild import Compare, Comparison, Content, Placed, Rebuild, Verify


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
