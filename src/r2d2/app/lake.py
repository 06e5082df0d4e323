"""The public Python API: scan, update, find and open_state, and the `Lake` that they return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r2d2.app.explain import explain_pair
from r2d2.app.find import find_in_lake
from r2d2.app.recipe_jobs import infer_recipes
from r2d2.app.scan import scan_lake
from r2d2.app.update import update_lake
from r2d2.app.workspace import Workspace
from r2d2.model.counted import counted
from r2d2.model.recipe import Recipe
from r2d2.model.scan import Scan
from r2d2.model.table import Problem
from r2d2.report.edges import EdgeTable, standing_edges
from r2d2.report.explain import Explanation
from r2d2.report.find import Finding
from r2d2.settings import Settings, load_settings
from r2d2.steps.infer_recipes import NoRecipe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Lake:
    """A scanned lake, for Python code and notebooks."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables that are there."""
        return tuple(table.name for table in self.scan.tables if table.name not in self.scan.absent)

    @property
    def deleted(self) -> Mapping[str, str]:
        """Tables that were deleted and can be rebuilt, with a sentence on each; their edges still stand."""
        return {name: known.says for name, known in self.scan.absent.items()}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Tables and files that could not be scanned, each with the reason."""
        return self.scan.problems

    def edges(self) -> EdgeTable:
        """The containment edges that stand."""
        return EdgeTable(tuple(standing_edges(self.scan)))

    def explain(self, parent: str, child: str, *, show_values: bool = False) -> Explanation:
        """Why *child* is, may be or cannot be contained in *parent*; with the values of a missing row if asked."""
        return explain_pair(self.scan, parent=parent, child=child, show_values=show_values)

    def infer_recipes(
        self, *, only: Iterable[tuple[str, str]] | None = None, spark: SparkSession | None = None, **settings: Any
    ) -> dict[tuple[str, str], Recipe | NoRecipe]:
        """By (parent, child) a recipe that gave the child exactly, or why there is none."""
        in_force = load_settings({"state": str(self.scan.in_force["state"])} | settings)
        return infer_recipes(Workspace(in_force, spark=spark), self.scan, only=only)

    def __repr__(self) -> str:
        tables = counted(len(self.tables), "tables") + (f" and {len(self.deleted):,} deleted" if self.deleted else "")
        edges = counted(len(self.scan.graph), "edges")
        size = f"{counted(self.scan.rows, 'rows')}, {counted(self.scan.size_bytes, 'bytes')}"
        return f"<Lake: {tables}, {size}, {edges}; state {self.scan.in_force.get('state')}>"

    def to_pandas(self) -> Any:
        """The edges as a DataFrame."""
        return self.edges().to_pandas()

    def _repr_html_(self) -> str:
        return self.edges()._repr_html_()


def scan(*roots: str | Path, spark: SparkSession | None = None, **settings: Any) -> Lake:
    """Scan the lake under *roots*; settings by name as in docs/cli-reference.md. *spark* is used, never stopped."""
    return Lake(scan_lake(Workspace(load_settings(settings), spark=spark), [str(root) for root in roots]))


def update(state: str | Path = ".r2d2", *, spark: SparkSession | None = None, **settings: Any) -> Lake:
    """Bring the newest scan in *state* up to date: only what changed is read. *spark* is used, never stopped."""
    return Lake(update_lake(Workspace(load_settings({"state": state, **settings}), spark=spark)).scan)


def find(
    path: str | Path, state: str | Path = ".r2d2", *, spark: SparkSession | None = None, **settings: Any
) -> Finding:
    """Find the table at *path*, which need not be in the lake, among those of the newest scan in *state*.

    Settings by name as in docs/cli-reference.md. Nothing is written; *spark* is used, never stopped.
    """
    return find_in_lake(Workspace(load_settings({"state": state, **settings}), spark=spark), path)


def open_state(state: str | Path = ".r2d2") -> Lake:
    """The lake as the newest scan in *state* saw it, with the tables marked that are deleted now."""
    return Lake(Workspace(Settings(state=str(state))).scan())
