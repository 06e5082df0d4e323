"""Interface to the rebuilder, which reads tables. Safety itself never reads rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from r2d2.errors import R2D2Error
from r2d2.model.rebuild import Compare, Comparison, Content, Placed, Rebuild, Verify


class Rebuilder(Protocol):
    """Reader that runs recipes and compares tables by values. It gets many tables at once and may read them together.

    It answers for each table by itself, in the order asked: with an R2D2Error if it cannot answer, never with a
    guess. A fault of one table does not affect the answer for another.
    """

    def verify_many(self, asked: Sequence[Verify]) -> Sequence[Comparison | R2D2Error]:
        """Run each recipe on its parents and compare with the child: every row with its copies, and the schema."""

    def rebuild_many(self, asked: Sequence[Rebuild]) -> Sequence[tuple[str, ...] | R2D2Error]:
        """Run each recipe and write its output. Returns the files, below the folder that was given.

        No other file may be left there: a file that is not returned is not trusted.
        """

    def compare_many(self, asked: Sequence[Compare]) -> Sequence[Comparison | R2D2Error]:
        """Compare every row with its copies, and the schema. The returned content is the rebuilt table's."""

    def measure_many(self, tables: Sequence[Placed]) -> Sequence[Content | R2D2Error]:
        """Counts and digest of tables on disk. The digest depends on rows and schema, not on files or order."""
