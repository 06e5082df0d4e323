"""Reads `lineage.json`, which `generate_lake` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from r2d2.synthetic.layout import Layout
from r2d2.synthetic.lineage import GeneratedLake, GeneratedTable
from r2d2.synthetic.steps_json import CLASSES, Json, snake_case

_KINDS = {snake_case(made.__name__): made for made in CLASSES}


def read_lineage(path: Path) -> GeneratedLake:
    """The lake that a `lineage.json` describes."""
    data = json.loads(path.read_text(encoding="utf-8"))
    tables = tuple(_table_from_json(table) for table in data["tables"])
    return GeneratedLake(path.parent / data["lake"], path, data["seed"], tables)


def step_from_json(data: Json) -> Any:
    """The step, or condition, that was written."""
    return _KINDS[data["kind"]](**{name: _decode(value) for name, value in data.items() if name != "kind"})


def _decode(value: object) -> object:
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    return step_from_json(value) if isinstance(value, dict) else value


def _table_from_json(data: Json) -> GeneratedTable:
    return GeneratedTable(
        name=data["name"],
        sources=tuple(data["sources"]),
        origin=data["origin"],
        steps=tuple(step_from_json(step) for step in data["steps"]),
        layout=Layout(**data["layout"]),
        rows=data["rows"],
        size_bytes=data["bytes"],
        files=data["files"],
    )
