"""Values of any type as text for people. Moments never become Python's: those end in 9999 and at microseconds."""

from __future__ import annotations

import json

import pyarrow as pa
from pyarrow import types as is_


def value_text(value: pa.Scalar) -> str | None:
    """One value as people write it, text as it is; NULL is None.

    >>> value_text(pa.scalar("a")), value_text(pa.scalar([1, None])), value_text(pa.scalar(None))
    ('a', '[1, null]', None)
    """
    if not value.is_valid:
        return None
    kind = value.type
    if is_.is_dictionary(kind) or isinstance(kind, pa.BaseExtensionType):
        return value_text(value.value)
    if is_.is_duration(kind):
        return f"{value.value} {kind.unit}"
    if is_.is_temporal(kind) and not is_.is_interval(kind):
        return str(value.cast(pa.string()).as_py())
    if is_.is_map(kind):
        entries = [f"{_inside(key)}: {_inside(item)}" for key, item in map(_entry, value.values)]
        return "{" + ", ".join(entries) + "}"
    if is_.is_struct(kind):
        return "{" + ", ".join(f"{json.dumps(name)}: {_inside(item)}" for name, item in value.items()) + "}"
    if hasattr(value, "values"):
        return "[" + ", ".join(map(_inside, value.values)) + "]"
    return _plain(value.as_py())


def _entry(entry: pa.StructScalar) -> tuple[pa.Scalar, pa.Scalar]:
    key, item = entry.values()
    return key, item


def _inside(value: pa.Scalar) -> str:
    """A value within a list, map or struct: text in quotes."""
    text = value_text(value)
    if text is None:
        return "null"
    kind = value.type
    is_text = is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind)
    return json.dumps(text, ensure_ascii=False) if is_text else text


def _plain(value: object) -> str:
    if isinstance(value, bytes):
        return "0x" + value.hex()
    return str(value).lower() if isinstance(value, bool) else str(value)
