"""A number of things in words, singular or plural."""

from __future__ import annotations


def counted(count: int, what: str) -> str:
    """A number of things; *what* names them in the plural.

    >>> counted(1, "CSV files"), counted(1200, "CSV files"), counted(1, "copies"), counted(0, "tables")
    ('1 CSV file', '1,200 CSV files', '1 copy', '0 tables')
    """
    return f"{count:,} {_one(what) if count == 1 else what}"


def _one(what: str) -> str:
    return what.removesuffix("ies") + "y" if what.endswith("ies") else what.removesuffix("s")
