"""The base of every view model, and how its fields become JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def as_json(view: DataclassInstance) -> dict[str, Any]:
    """The fields of a dataclass, and of those in it, as plain values."""
    return asdict(view, dict_factory=_plain)


def _plain(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, StrEnum) else value for name, value in fields}


@dataclass(frozen=True)
class Document:
    """A frozen view model whose fields are those of its JSON."""

    def to_json(self) -> dict[str, Any]:
        """The document as `--json` prints it."""
        return as_json(self)
