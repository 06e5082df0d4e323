"""Steps and conditions as JSON and back."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeAlias

from r2d2.errors import UserError
from r2d2.synthetic import conditions, transform

# Any: what json.loads gives. A parameter that does not fit fails in the step's constructor.
Json: TypeAlias = dict[str, Any]

_CLASSES = (
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
    return _snake(type(step).__name__)


def step_to_json(step: Any) -> Json:
    """The step's kind and parameters.

    >>> step_to_json(transform.ShuffleRows(window_rows=100, seed=7))
    {'kind': 'shuffle_rows', 'window_rows': 100, 'seed': 7}
    """
    parameters = {field.name: _encode(getattr(step, field.name)) for field in fields(step)}
    return {"kind": kind_name(step), **parameters}


def step_from_json(data: Json) -> Any:
    """The step, or condition, that was written."""
    made = _KINDS.get(data.get("kind", ""))
    if made is None:
        raise UserError(
            f"the lineage names a step this version does not know: {data.get('kind')!r}",
            hint="generate the lake again, or read it with the version that wrote it",
        )
    return made(**{name: _decode(value) for name, value in data.items() if name != "kind"})


def _encode(value: object) -> object:
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    return step_to_json(value) if isinstance(value, _CLASSES) else value


def _decode(value: object) -> object:
    if isinstance(value, list):
        return tuple(_decode(item) for item in value)
    return step_from_json(value) if isinstance(value, dict) else value


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


_KINDS: dict[str, Callable[..., Any]] = {_snake(made.__name__): made for made in _CLASSES}
