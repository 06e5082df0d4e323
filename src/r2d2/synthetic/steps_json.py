"""Steps and conditions as JSON."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any, TypeAlias

from r2d2.synthetic import conditions, transform

Json: TypeAlias = dict[str, Any]

CLASSES = (
    transform.Copy,
    transform.SelectWhere,
    transform.KeepFields,
    transform.AddRows,
    transform.RepeatRows,
    transform.AddColumn,
    transform.AddNoise,
    transform.ShuffleRows,
    transform.WidenTypes,
    conditions.OneOf,
    conditions.Between,
)


def kind_name(step: object) -> str:
    """The name of a step in the lineage.

    >>> kind_name(transform.Copy()), kind_name(transform.ShuffleRows(8, 1))
    ('copy', 'shuffle_rows')
    """
    return snake_case(type(step).__name__)


def step_to_json(step: Any) -> Json:
    """The step's kind and parameters.

    >>> step_to_json(transform.ShuffleRows(window_rows=100, seed=7))
    {'kind': 'shuffle_rows', 'window_rows': 100, 'seed': 7}
    """
    parameters = {field.name: _encode(getattr(step, field.name)) for field in fields(step)}
    return {"kind": kind_name(step), **parameters}


def _encode(value: object) -> object:
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    return step_to_json(value) if isinstance(value, CLASSES) else value


def snake_case(name: str) -> str:
    """The name of a class in small letters.

    >>> snake_case("AddRows")
    'add_rows'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
