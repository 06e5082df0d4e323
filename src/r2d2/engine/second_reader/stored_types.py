"""Parquet types of columns where Arrow's type does not tell all: intervals, times in UTC, UUIDs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow.parquet as pq

_SAID_BY_NODES = ("", "String", "Decimal", "Date", "Timestamp", "Int", "Float16", "Null")
_HOW_IT_IS_SAID = ("is_from_converted_type", "force_set_converted_type")  # flags of the notation; the type is the same
_VARIANT = re.compile(r"^ +\w+ group field_id=-?\d+ (.*) \(Variant\(\d+\)\) \{$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Stored:
    """One column of a file; two are equal if readers see the same type."""

    physical: str
    logical: str  # as the footer has it; '' if it says nothing

    @property
    def special(self) -> str:
        """The logical type, if the Node of the column does not tell it; else ''."""
        kind, _, how = self.logical.partition(" ")
        is_known = kind in _SAID_BY_NODES or (kind == "Time" and "isAdjustedToUTC=false" in how)
        return "" if is_known else self.logical

    def __str__(self) -> str:
        return f"{self.physical} {self.logical}".strip()


def stored_types(schema: pq.ParquetSchema) -> list[Stored]:
    """The Parquet type of each leaf column of a file."""
    leaves = [schema.column(number) for number in range(len(schema))]
    variants = _variants(schema, leaves)
    return [Stored(leaf.physical_type, "Variant") if leaf.path in variants else _stored(leaf) for leaf in leaves]


def _stored(leaf: pq.ColumnSchema) -> Stored:
    told = json.loads(leaf.logical_type.to_json())
    kind = told.pop("Type")
    if kind == "Decimal":
        return Stored("", f"Decimal {told['precision']},{told['scale']}")  # one type, stored as integers or bytes
    physical = f"{leaf.physical_type}({leaf.length})" if leaf.length > 0 else leaf.physical_type
    if kind == "None" or (kind == "Int" and told["isSigned"] and told["bitWidth"] >= 32):
        return Stored(physical, "")  # a plain number, with or without a logical type
    how = ",".join(f"{key}={json.dumps(value)}" for key, value in told.items() if key not in _HOW_IT_IS_SAID)
    return Stored(physical, f"{kind} {how}".strip())


def _variants(schema: pq.ParquetSchema, leaves: Sequence[pq.ColumnSchema]) -> set[str]:
    """The paths of the metadata columns of VARIANT structs. Only the schema's text shows the type of a group."""
    paths = [leaf.path for leaf in leaves if leaf.path.endswith(".metadata")]
    names = _VARIANT.findall(str(schema)) if paths else []
    return {path for path in paths for name in names if path.endswith(f"{name}.metadata")}
