"""Convert dataclasses to canonical JSON and back. Unknown, missing or wrongly typed fields are errors."""

from __future__ import annotations

import hashlib
import json
import typing
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


class Malformed(ValueError):
    """A text or value that `encode` and `canonical` never write; the message says where it is."""


def canonical(value: Any) -> bytes:
    """The one spelling of a value: sorted keys, no spaces, ASCII (names that are not UTF-8 survive as escapes)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode("ascii")


def digest(value: Any) -> str:
    """SHA-256 of the canonical spelling."""
    return hashlib.sha256(canonical(value)).hexdigest()


def parse(text: bytes) -> Any:
    """Parse JSON; refuse duplicate keys, NaN and Infinity, on which JSON readers disagree."""
    try:
        return json.loads(text.decode("utf-8"), object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"it is not JSON as R2D2 writes it ({error})") from error


def encode(value: Any) -> Any:
    """A dataclass or named tuple as plain JSON values; fields that are None are left out."""
    kind: Any = type(value)
    if _has_fields(kind):
        given = ((name, getattr(value, name)) for name in _hints(kind))
        return {name: encode(item) for name, item in given if item is not None}
    return [encode(item) for item in value] if isinstance(value, tuple) else value


def decode(kind: type[T], value: Any, where: str = "") -> T:
    """The dataclass *kind* from the output of `encode`."""
    made = _decode(kind, value, where or kind.__name__)
    return typing.cast(T, made)


def _decode(kind: Any, value: Any, where: str) -> Any:
    if _has_fields(kind):
        return _decode_fields(kind, value, where)
    origin = typing.get_origin(kind)
    if origin is tuple:
        if type(value) is not list:
            raise Malformed(f"{where} is not a list")
        item = typing.get_args(kind)[0]
        return tuple(_decode(item, one, f"{where}[{index}]") for index, one in enumerate(value))
    expected = dict if origin is Mapping else kind
    if type(value) is not expected:  # exactly: bool is a subclass of int
        raise Malformed(f"{where} is not of type {expected.__name__}")
    return value


def _decode_fields(kind: Any, value: Any, where: str) -> Any:
    hints = _hints(kind)
    needed = {name for name, hint in hints.items() if type(None) not in typing.get_args(hint)}
    if type(value) is not dict or not needed <= value.keys() <= hints.keys():
        raise Malformed(f"{where} must have these fields and no others: {', '.join(hints)}")
    return kind(**{name: _decode(_given(hints[name]), item, f"{where}.{name}") for name, item in value.items()})


def _has_fields(kind: Any) -> bool:
    return is_dataclass(kind) or hasattr(kind, "_fields")


def _given(hint: Any) -> Any:
    """The type inside an Optional; any other type as it is."""
    return typing.get_args(hint)[0] if type(None) in typing.get_args(hint) else hint


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key is given twice")
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not valid JSON")
