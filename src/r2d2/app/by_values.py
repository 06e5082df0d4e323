"""Second reader for safe deletion: Spark's rebuilder, with the progress of a command."""

from __future__ import annotations

from collections.abc import Sequence

from r2d2.engine.second_reader.rebuilder import SparkRebuilder
from r2d2.errors import R2D2Error
from r2d2.model.progress import News, Progress, silent
from r2d2.model.rebuild import Compare, Comparison, Content, Placed, Rebuild, Verify


class ByValues:
    """Compare and rebuild tables by their values, with Spark's own reader."""

    def __init__(self, rebuilder: SparkRebuilder, progress: Progress = silent) -> None:
        self._rebuilder = rebuilder
        self._progress = progress
        self._rebuilt = 0
        self._expected = 0

    def expect(self, tables: int) -> None:
        """Set how many tables will be rebuilt at most; those whose copy is whole need no rebuild."""
        self._expected = tables

    def verify_many(self, asked: Sequence[Verify]) -> list[Comparison | R2D2Error]:
        """Run each recipe on its parent and compare with the child."""
        return self._rebuilder.verify_many(asked)

    def rebuild_many(self, asked: Sequence[Rebuild]) -> list[tuple[str, ...] | R2D2Error]:
        """Write the table that each recipe makes of its parent."""
        self._progress(News("rebuilding", self._rebuilt, self._expected or None))
        self._rebuilt += len(asked)
        return list(self._rebuilder.rebuild_many(asked))

    def compare_many(self, asked: Sequence[Compare]) -> list[Comparison | R2D2Error]:
        """Compare tables on disk, two by two."""
        return self._rebuilder.compare_many(asked)

    def measure_many(self, tables: Sequence[Placed]) -> list[Content | R2D2Error]:
        """Counts and digest of tables on disk."""
        return self._rebuilder.measure_many(tables)
