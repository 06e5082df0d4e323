"""Make a small lake for a first look, and plan deletions in it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from r2d2.app.known_recipes import recipes_for
from r2d2.app.proposal import Planned, plan_lake
from r2d2.app.workspace import Workspace
from r2d2.errors import UserError
from r2d2.model.progress import News, Progress, silent
from r2d2.model.scan import Scan
from r2d2.synthetic import generate_lake

TABLES, ROWS, SEED = 60, 20_000, 7
_OURS = {"lake", "lineage.json", "truth.json", "state"}


def clear_demo(folder: Path) -> None:
    """Remove an earlier demo; a folder with anything else in it is left alone."""
    if not folder.exists():
        return
    foreign = {path.name for path in folder.iterdir()} - _OURS
    if foreign:
        hint = "give a new one with --folder DIR"
        raise UserError(f"{folder} holds more than a demo: {min(foreign)}", hint=hint)
    shutil.rmtree(folder)


def make_lake(folder: Path, progress: Progress = silent) -> Path:
    """Make the demo's lake in *folder*; its path."""

    def made(done: int, total: int) -> None:
        progress(News(f"making a small lake of {total} tables", done, total))

    return generate_lake(folder, tables=TABLES, rows=ROWS, seed=SEED, progress=made).path


def plan_demo(workspace: Workspace, found: Scan) -> Planned:
    """Plan deletions in the demo's lake. It has only just been made, so tables of any age may go."""
    book = recipes_for(workspace, found)
    return plan_lake(found, book.recipes, replace(workspace.settings, min_age=0.0), given=book.given)
