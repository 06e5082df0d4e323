"""What the second reader is asked about tables, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class Placed(Protocol):
    """A table where it lies now (r2d2.safety.ports has the meaning)."""

    @property
    def path(self) -> str:
        """Its folder or file."""

    @property
    def files(self) -> tuple[str, ...]:
        """The files with rows, below it."""


class Verify(Protocol):
    """What `verify` is asked."""

    @property
    def recipe(self) -> Mapping[str, Any]:
        """The instructions."""

    @property
    def parents(self) -> tuple[Placed, ...]:
        """The tables that they are for."""

    @property
    def child(self) -> Placed:
        """The table that they should make."""


class Rebuild(Protocol):
    """What `rebuild` is asked."""

    @property
    def recipe(self) -> Mapping[str, Any]:
        """The instructions."""

    @property
    def parents(self) -> tuple[Placed, ...]:
        """The tables that they are for."""

    @property
    def into(self) -> str:
        """An empty folder."""

    @property
    def one_file(self) -> bool:
        """Whether it may be one file only."""


class Compare(Protocol):
    """What `compare` is asked."""

    @property
    def rebuilt(self) -> Placed:
        """The one table."""

    @property
    def child(self) -> Placed:
        """The other."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a table holds."""

    rows: int
    distinct_rows: int
    digest: str


@dataclass(frozen=True, slots=True)
class Compared:
    """How two tables differ, if they do, and what the second holds."""

    differs: str
    content: Measured
