"""Show canonical values to people, and convert them to text and back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from r2d2.model.profile import Value
from r2d2.model.types import kind_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST = 40


def show(value: Value | None, type_name: str) -> str:
    """One bound for people to read: dates as dates, text in quotes, escaped and cut.

    >>> show(19723, "date"), show(b"a\\nb", "string"), show(None, "int64"), show(1, "bool")
    ('2024-01-01', "'a\\\\nb'", 'unknown', 'true')
    """
    if value is None:
        return "unknown"
    kind = kind_of(type_name)
    if isinstance(value, bytes):
        return _show_bytes(value, kind)
    if kind == "bool":
        return "true" if value else "false"
    if isinstance(value, int) and kind in ("date", "timestamp", "timestamp with zone"):
        return _show_moment(value, kind)
    if isinstance(value, int) and kind in ("time", "duration"):
        return str(timedelta(microseconds=value // 1000))
    return str(value)


def _show_bytes(value: bytes, kind: str) -> str:
    if kind != "string":
        return "0x" + value[: _LONGEST // 2].hex() + ("…" if len(value) > _LONGEST // 2 else "")
    text = value.decode("utf-8", "replace")
    return repr(text[:_LONGEST]) + ("…" if len(text) > _LONGEST else "")


def _show_moment(value: int, kind: str) -> str:
    try:
        if kind == "date":
            return (date(1970, 1, 1) + timedelta(days=value)).isoformat()
        seconds, nanoseconds = divmod(value, 10**9)
        moment = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S")
    except OverflowError:  # before the year 1 or after 9999
        return f"{value} {'days' if kind == 'date' else 'ns'} since 1970"
    fraction = f".{nanoseconds:09d}".rstrip("0") if nanoseconds else ""
    return moment + fraction + (" UTC" if kind.endswith("zone") else "")


def to_text(value: Value | None) -> str | None:
    """A bound as text that `from_text` reads back exactly: a letter for the type, then the value.

    >>> to_text(7), to_text(0.5), to_text(Decimal("1.50")), to_text(b"ab"), to_text(None)
    ('i7', 'f0x1.0000000000000p-1', 'd1.50', 'b6162', None)
    """
    if value is None:
        return None
    if isinstance(value, int):
        return f"i{value}"
    if isinstance(value, float):
        return "f" + value.hex()
    return f"d{value}" if isinstance(value, Decimal) else "b" + value.hex()


def from_text(text: str | None) -> Value | None:
    """The bound that `to_text` wrote."""
    if text is None:
        return None
    read: dict[str, Callable[[str], Value]] = {"i": int, "f": float.fromhex, "d": Decimal, "b": bytes.fromhex}
    return read[text[0]](text[1:])
