"""Table names as people give them: folder and name of a copy."""

from __future__ import annotations

import re

import numpy as np

from r2d2.synthetic import transform as t
from r2d2.synthetic.conditions import OneOf

FOLDERS = ("sales", "crm", "web", "ops", "team-x", "team-x/tmp", "marketing", "archive/2023", "")
LONGEST_STEM = 36

_SUFFIXES = {
    t.Copy: ("copy", "backup", "v2", "old", "final", "2024_01", "copy_jk"),
    t.SelectWhere: ("sample", "extract", "subset", "small", "for_report", "test"),
    t.KeepFields: ("slim", "narrow"),
    t.AddRows: ("merged", "topup", "plus", "latest"),
    t.RepeatRows: ("loaded_twice", "raw"),
    t.AddColumn: ("enriched", "features", "scored"),
    t.AddNoise: ("anon", "masked", "perturbed"),
    t.ShuffleRows: ("reloaded", "repartitioned"),
    t.WidenTypes: ("migrated", "bigint"),
}


class Namer:
    """Source of unique table names, also on file systems that ignore case."""

    def __init__(self) -> None:
        self._taken: set[str] = {"", "tpch", "raw", "archive", *FOLDERS}

    def root_name(self, name: str, *, home: str) -> str:
        """The name of a root: its own, in its home folder."""
        return self._free(home, clean(name))

    def derived_name(self, stem: str, *, root: str, step: t.Step, random: np.random.Generator) -> str:
        """The source's name with a word for the transformation, in any folder."""
        base = stem if len(stem) <= LONGEST_STEM else clean(root)
        folder = FOLDERS[random.integers(len(FOLDERS))]
        return self._free(folder, f"{base}_{_suffix(step, random)}")

    def _free(self, folder: str, stem: str) -> str:
        name, number = f"{folder}/{stem}".lstrip("/"), 1
        while name.casefold() in self._taken:
            number += 1
            name = f"{folder}/{stem}_{number}".lstrip("/")
        self._taken.add(name.casefold())
        return name


def clean(name: str) -> str:
    """The name without characters that are unsafe in file names.

    >>> clean("_Orders (EU) = 2024")
    'Orders_EU_2024'
    """
    return re.sub(r"[^\w-]+", "_", name).strip("_") or "table"


def _suffix(step: t.Step, random: np.random.Generator) -> str:
    told = _told_by_filter(step)
    words = (*told, *told, *_SUFFIXES[type(step)])
    return str(words[random.integers(len(words))])


def _told_by_filter(step: t.Step) -> list[str]:
    """Words of a WHERE with a single value, as in `orders_de`."""
    if not isinstance(step, t.SelectWhere):
        return []
    single = [c.values[0] for c in step.where if isinstance(c, OneOf) and len(c.values) == 1]
    words = [clean(value).lower() for value in single if value]
    return [word for word in words if 1 < len(word) <= 12 and word != "table"]
