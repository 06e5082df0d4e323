"""Sizes, money and times in words."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal


def bytes_for_people(size: float) -> str:
    """A size with a unit.

    >>> bytes_for_people(999), bytes_for_people(1_234_567)
    ('999 B', '1.2 MB')
    """
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} PB"


def money(amount: float, currency: str) -> str:
    """An amount with two digits that are not zero.

    >>> money(1234.5, "USD"), money(0.0001234, "USD"), money(0, "USD")
    ('1,234.50 USD', '0.00012 USD', '0.00 USD')
    """
    if amount == 0 or abs(amount) >= 1:
        return f"{amount:,.2f} {currency}"
    return f"{Decimal(f'{amount:.2g}'):f} {currency}"


def day(seconds: int) -> str:
    """A time in UTC.

    >>> day(86_400)
    '1970-01-02 00:00'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
