"""The settings that shape a scan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ScanSettings:
    """The settings that the result of a scan depends on, with their defaults; `r2d2.settings` has their help.

    An update takes them over from the scan that it brings up to date.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    folder_table: tuple[str, ...] = ()
    split: tuple[str, ...] = ()
    ignore_case: bool = False
    partition_types: str = "infer"
    bag: bool = False
    rows: int = 100
    columns: int = 4
    epsilon: float = 0.0
    delta: float = 0.05
    verify: bool = True
