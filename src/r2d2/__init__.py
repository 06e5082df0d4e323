"""R2D2 finds the tables of a data lake that are contained in others.

>>> import r2d2
>>> lake = r2d2.scan("path/to/lake")  # doctest: +SKIP
>>> lake.edges().to_pandas()          # doctest: +SKIP

Importing the package loads neither Spark nor Polars: the names below are looked up when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from r2d2.app.lake import Lake, find, open_state, scan, update

__version__ = "0.1.0"
__all__ = ["Lake", "__version__", "find", "open_state", "scan", "update"]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name in __all__:
        from r2d2.app import lake

        return getattr(lake, name)
    raise AttributeError(f"module 'r2d2' has no attribute {name!r}")
