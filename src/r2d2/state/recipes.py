"""Recipes in the state folder: one JSON file per edge, bound to the versions of both tables (docs/state.md)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from r2d2.errors import StateError
from r2d2.model import recipe as recipes
from r2d2.model.recipe import Recipe
from r2d2.model.table import Table
from r2d2.state.store import PRIVATE_FILE, PRIVATE_FOLDER, _write_atomically

FORMAT = 1


@dataclass(frozen=True, slots=True)
class StoredRecipe:
    """The recipe of one edge, or the reason that there is none, and the versions of both tables it holds for."""

    parent: str
    child: str
    parent_version: str
    child_version: str
    origin: str  # INFERRED, or GIVEN by a person
    recipe: Recipe | None  # already run and compared: it rebuilds the child exactly
    because: str = ""  # the reason that there is no recipe

    def is_current(self, *, parent: Table, child: Table) -> bool:
        """Whether both tables are unchanged since."""
        return (self.parent_version, self.child_version) == (parent.version, child.version)


class RecipeStore:
    """The recipes of one state folder. Write with the state's lock held."""

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder) / "recipes"

    def load(self, parent: str, child: str) -> StoredRecipe | None:
        """The stored recipe of an edge, current or not; None without one."""
        path = self._path(parent, child)
        return _read(path) if path.exists() else None

    def all(self) -> Iterator[StoredRecipe]:
        """All stored recipes, by parent and child."""
        paths = sorted(self._folder.glob("*.json")) if self._folder.is_dir() else []
        yield from sorted(map(_read, paths), key=lambda stored: (stored.parent, stored.child))

    def save(self, stored: Iterable[StoredRecipe]) -> None:
        """Store recipes, replacing those of the same edges."""
        try:
            self._folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            for one in stored:
                text = json.dumps(_to_json(one), indent=1)
                _write_atomically(self._path(one.parent, one.child), text, mode=PRIVATE_FILE)
        except OSError as error:
            raise StateError(
                f"cannot write {self._folder} ({error.strerror or error})", hint="give another state with --state DIR"
            ) from error

    def forget(self, parent: str, child: str) -> bool:
        """Remove the stored recipe of an edge; return whether there was one."""
        path = self._path(parent, child)
        there = path.exists()
        path.unlink(missing_ok=True)
        return there

    def _path(self, parent: str, child: str) -> Path:
        """Path of an edge's recipe, by hash: names of tables are not safe as file names (HAZARDS 31)."""
        name = hashlib.sha256(json.dumps([parent, child]).encode()).hexdigest()[:32]
        return self._folder / f"{name}.json"


def _to_json(stored: StoredRecipe) -> dict[str, object]:
    return {
        "format": FORMAT,
        "parent": stored.parent,
        "child": stored.child,
        "parent_version": stored.parent_version,
        "child_version": stored.child_version,
        "origin": stored.origin,
        "because": stored.because,
        "recipe": None if stored.recipe is None else recipes.to_json(stored.recipe),
    }


def _read(path: Path) -> StoredRecipe:
    try:
        data = json.loads(path.read_text("utf-8"))
        if data.pop("format") != FORMAT:
            raise ValueError("it is of another format")
        recipe = data.pop("recipe")
        return StoredRecipe(**data, recipe=None if recipe is None else recipes.from_json(recipe))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StateError(
            f"the recipe in {path} cannot be read ({error})", hint="remove the file, and infer the recipe again"
        ) from error
