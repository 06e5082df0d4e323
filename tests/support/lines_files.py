"""Files of the toy format of tests/contracts/lines_format.py."""

from __future__ import annotations

import json

import pyarrow as pa

from r2d2.formats.arrow_types import type_name


def write_lines(table: pa.Table, path: str) -> None:
    """Write rows as a file of lines."""
    header = {field.name: type_name(field.type) for field in table.schema}
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    with open(path, "w") as file:
        file.write("\n".join(["#LINES" + json.dumps(header), *map(json.dumps, rows)]) + "\n")
