"""Write and read a scan as Parquet and JSON files, which pandas and DuckDB can read too.

Dropped pairs are not written, since there may be a hundred million of them: they and their reasons follow from family
edges and profiles. `r2d2 edges --all` lists them.
"""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from r2d2.errors import StateError
from r2d2.model.graph import ContainmentGraph, Edges, SchemaGraph, SchemaOperations
from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.scan import FunnelLine, Scan
from r2d2.model.scan_settings import ScanSettings
from r2d2.model.schema import Column, Schema
from r2d2.model.table import Absent, DataFile, Problem, Table
from r2d2.model.values import from_text, show, to_text
from r2d2.model.versions import FileVersion

Row = tuple[Any, ...]  # one row of a file, in the order of its schema

_PAIRS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))
_TABLES = pa.schema(
    [
        ("table", pa.uint32()),
        ("name", pa.string()),
        ("format", pa.string()),
        ("location", pa.string()),
        ("version", pa.string()),
        ("rows", pa.int64()),
        ("size_bytes", pa.int64()),
        ("family", pa.uint32()),
        ("aliases", pa.list_(pa.string())),
        ("unexplained", pa.list_(pa.string())),
    ]
)
_FILES = pa.schema(
    [
        ("table", pa.uint32()),
        ("path", pa.string()),
        ("size_bytes", pa.int64()),
        ("modified_ns", pa.int64()),
        ("identity", pa.string()),
        ("state", pa.string()),
        ("settled", pa.bool_()),
        ("partition", _PAIRS),
        ("part_rows", pa.list_(pa.int64())),
        ("part_bytes", pa.list_(pa.int64())),
    ]
)
_COLUMNS = pa.schema(
    [
        ("table", pa.uint32()),
        ("column", pa.string()),
        ("path", pa.list_(pa.string())),
        ("type", pa.string()),
        ("nulls", pa.int64()),
        ("low", pa.string()),
        ("high", pa.string()),
        ("low_exact", pa.bool_()),
        ("high_exact", pa.bool_()),
        ("low_key", pa.string()),
        ("high_key", pa.string()),
    ]
)
_FAMILY_EDGES = pa.schema([("parent_family", pa.uint32()), ("child_family", pa.uint32())])
_EDGES = pa.schema(
    [
        ("parent", pa.uint32()),
        ("child", pa.uint32()),
        ("check", pa.uint8()),
        ("missing_rows", pa.int64()),
        ("missing_copies", pa.int64()),
        ("via", pa.uint32()),
    ]
)
_MAPPING = "mapping"  # an optional column of edges, for renamed columns; absent: columns match by name
_SINCE = pa.schema([("since", pa.uint32())])
_PROBLEMS = pa.schema([(name, pa.string()) for name in ("where", "because", "hint", "kind")])


def write_scan(scan: Scan, folder: Path, *, known: tuple[Scan, Path] | None = None) -> None:
    """Write every part of *scan* into *folder*. Parts shared with a *known* scan are copied from its folder."""
    family_of = scan.schema_graph.family_of
    numbered = _numbered(scan)
    _write(folder, "tables", _TABLES, (_table_row(n, t, p, family_of[n]) for n, t, p in numbered))
    _write(folder, "files", _FILES, (_file_row(n, file) for n, t, _ in numbered for file in t.files))
    _save(folder, "columns", _all_columns(scan, known))
    _write_arrays(folder, "family_edges", _FAMILY_EDGES, scan.schema_graph.parents, scan.schema_graph.children)
    for name, edges in (("edges", scan.graph.standing), ("ruled_out", scan.graph.ruled_out)):
        _write_arrays(folder, name, _EDGES, *(getattr(edges, field.name) for field in fields(edges)))
    _write_arrays(folder, "since", _SINCE, scan.since)
    _write(folder, "problems", _PROBLEMS, [(p.where, p.because, p.hint, p.kind) for p in scan.problems])
    summary = {
        "roots": scan.roots,
        "settings": dict(scan.in_force) | vars(scan.settings),
        "funnel": [asdict(line) | {"dropped": dict(line.dropped)} for line in scan.funnel],
        "schema_operations": asdict(scan.schema_graph.operations),
        "session_seconds": scan.session_seconds,
        "step": scan.graph.step,
        "dropped": dict(scan.graph.dropped),
        "overlaps": sorted(scan.overlaps),
        "listed_ns": scan.listed_ns,
        "bytes_read": scan.bytes_read,
        "since_runs": scan.since_runs,
        "absent": {name: asdict(known) for name, known in scan.absent.items()},
    }
    (folder / "run.json").write_text(json.dumps(summary, indent=2) + "\n", "utf-8")


def read_scan(folder: Path) -> Scan:
    """The scan that `write_scan` wrote."""
    try:
        summary = json.loads((folder / "run.json").read_text("utf-8"))
        return _assemble(folder, summary)
    except (OSError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, pa.ArrowException) as error:
        raise StateError(
            f"the scan in {folder} cannot be read ({type(error).__name__}: {error})",
            hint="scan the lake again, into another folder with --state DIR",
        ) from error


def _assemble(folder: Path, summary: Mapping[str, Any]) -> Scan:
    rows = _read(folder, "tables")
    tables = _tables(rows, _read(folder, "files"))
    families: defaultdict[int, array[int]] = defaultdict(lambda: array("I"))
    for number, *_, family, _, _ in rows:
        families[family].append(number)
    names = tuple(table.name for table in tables)
    standing, ruled_out = (_read_edges(folder, name) for name in ("edges", "ruled_out"))
    graph = ContainmentGraph(names, standing, summary["step"], summary["dropped"], ruled_out)
    parent_families, child_families = _read_arrays(folder, "family_edges")
    schema_graph = SchemaGraph(
        names,
        tuple(families[number] for number in range(len(families))),
        parent_families,
        child_families,
        SchemaOperations(**summary["schema_operations"]),
    )
    in_force = {name: tuple(v) if isinstance(v, list) else v for name, v in summary["settings"].items()}
    return Scan(
        roots=tuple(summary["roots"]),
        tables=tables,
        problems=tuple(Problem(*row) for row in _read(folder, "problems")),
        overlaps=frozenset((a, b) for a, b in summary["overlaps"]),
        profiles=_profiles(rows, _read(folder, "columns")),
        schema_graph=schema_graph,
        graph=graph,
        funnel=tuple(FunnelLine(**line) for line in summary["funnel"]),
        settings=_settings(in_force),
        in_force=in_force,
        session_seconds=summary["session_seconds"],
        run=folder.name,
        listed_ns=summary.get("listed_ns", 0),
        bytes_read=summary.get("bytes_read", 0),
        since_runs=tuple(summary.get("since_runs", ())),
        absent={name: Absent(**known) for name, known in summary.get("absent", {}).items()},
        unsampled=frozenset(summary.get("absent", ())),
        since=_read_arrays(folder, "since")[0] if (folder / "since.parquet").exists() else array("I"),
    )


def _settings(in_force: Mapping[str, Any]) -> ScanSettings:
    """The settings of the scan; a missing one, or one of another type, makes the state unreadable."""
    usual = vars(ScanSettings())
    for name in usual:
        value = in_force[name]
        texts = value if isinstance(value, tuple) else ()
        if type(value) is not type(usual[name]) or not all(isinstance(text, str) for text in texts):
            raise TypeError(f"{name} is {value!r}")
    return ScanSettings(**{name: in_force[name] for name in usual})


def _numbered(scan: Scan) -> list[tuple[int, Table, TableProfile]]:
    return [(n, t, p) for n, (t, p) in enumerate(zip(scan.tables, scan.profiles, strict=True))]


def _table_row(number: int, table: Table, profile: TableProfile, family: int) -> Row:
    where = (number, table.name, table.format, table.location, table.version)
    return *where, profile.rows, profile.size_bytes, family, table.aliases, table.unexplained


def _file_row(number: int, file: DataFile) -> Row:
    partition = [{"key": key, "value": value} for key, value in file.partition]
    rows, sizes = [rows for rows, _ in file.parts], [size for _, size in file.parts]
    return number, file.path, file.size_bytes, file.modified_ns, *file.version, partition, rows, sizes


def _column_rows(number: int, profile: TableProfile) -> Iterator[Row]:
    for column, (nulls, low, high, *exact) in zip(profile.schema.columns, profile.stats, strict=True):
        shown = [None if bound is None else show(bound, column.type_name) for bound in (low, high)]
        keys = to_text(low), to_text(high)
        yield number, str(column), column.token, column.type_name, nulls, *shown, *exact, *keys


def _tables(rows: Iterable[Row], file_rows: Iterable[Row]) -> tuple[Table, ...]:
    files: defaultdict[int, list[DataFile]] = defaultdict(list)
    for number, path, size, modified, identity, state, settled, pairs, part_rows, part_bytes in file_rows:
        partition = tuple((pair["key"], pair["value"]) for pair in pairs)
        parts = tuple(zip(part_rows, part_bytes, strict=True))
        version = FileVersion(identity, state, settled)
        files[number].append(DataFile(path, size, modified, version, partition, parts))
    return tuple(
        Table(name, table_format, location, tuple(files[number]), tuple(aliases), tuple(unexplained))
        for number, name, table_format, location, _, _, _, _, aliases, unexplained in rows
    )


def _profiles(rows: Iterable[Row], column_rows: Iterable[Row]) -> tuple[TableProfile, ...]:
    """The profiles. Equal columns and schemas are shared objects, since few are distinct."""
    columns: defaultdict[int, list[Column]] = defaultdict(list)
    stats: defaultdict[int, list[ColumnStats]] = defaultdict(list)
    known: dict[tuple[tuple[str, ...], str], Column] = {}
    for number, _, path, type_name, nulls, _, _, low_exact, high_exact, low, high in column_rows:
        key = tuple(path), type_name
        column = known.get(key)
        if column is None:
            column = known[key] = Column(*key)
        columns[number].append(column)
        stats[number].append(ColumnStats(nulls, from_text(low), from_text(high), low_exact, high_exact))
    schemas: dict[tuple[int, ...], Schema] = {}  # equal columns are one object here
    profiles = []
    for number, name, _, _, _, table_rows, size, *_ in rows:
        mine = columns[number]
        same = tuple(map(id, mine))
        schema = schemas.get(same)
        if schema is None:
            schema = schemas[same] = Schema(tuple(mine))
        profiles.append(TableProfile(name, schema, table_rows, size, tuple(stats[number])))
    return tuple(profiles)


def _all_columns(scan: Scan, known: tuple[Scan, Path] | None) -> pa.Table:
    """The rows of columns.parquet. Profiles shared with an earlier scan, as objects, are copied from its file."""
    before, folder = known or (None, None)
    stored = pq.read_table(folder / "columns.parquet") if folder is not None else _COLUMNS.empty_table()
    old_number = {id(p): n for n, p in enumerate(before.profiles)} if before and stored.schema == _COLUMNS else {}
    number = np.full(len(before.profiles) if before else 0, -1, dtype=np.int64)
    new: list[Row] = []
    for place, profile in enumerate(scan.profiles):
        was = old_number.get(id(profile))
        if was is None:
            new.extend(_column_rows(place, profile))
        else:
            number[was] = place
    if not old_number:
        return _as_table(_COLUMNS, new)
    places = number[stored.column("table").to_numpy()]
    there = places >= 0
    numbers = pa.array(places[there], pa.uint32())
    kept = stored.filter(pa.array(there)).set_column(0, _COLUMNS.field(0), numbers)
    both = pa.concat_tables([kept, _as_table(_COLUMNS, new)])
    return both.take(pa.array(np.argsort(both.column("table").to_numpy(), kind="stable")))


def _write(folder: Path, name: str, schema: pa.Schema, rows: Iterable[Row]) -> None:
    _save(folder, name, _as_table(schema, rows))


def _as_table(schema: pa.Schema, rows: Iterable[Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _save(folder: Path, name: str, table: pa.Table) -> None:
    pq.write_table(table, folder / f"{name}.parquet", compression="zstd")


def _write_arrays(folder: Path, name: str, schema: pa.Schema, *columns: array[int]) -> None:
    arrays = [
        pa.Array.from_buffers(field.type, len(column), [None, pa.py_buffer(column)])
        for field, column in zip(schema, columns, strict=True)
    ]
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), folder / f"{name}.parquet", compression="zstd")


def _read(folder: Path, name: str) -> list[Row]:
    return list(zip(*pq.read_table(folder / f"{name}.parquet").to_pydict().values(), strict=True))


def _read_edges(folder: Path, name: str) -> Edges:
    """The edges of a file. It may number column mappings, of which this version supports only 0 (by name)."""
    path = folder / f"{name}.parquet"
    mapped = _MAPPING in pq.read_schema(path).names
    if mapped and any(_read_arrays(folder, name, [_MAPPING])[0]):
        raise ValueError(f"columns of {name} are mapped, which this version does not support")
    return Edges(*_read_arrays(folder, name, _EDGES.names))


def _read_arrays(folder: Path, name: str, columns: list[str] | None = None) -> list[array[int]]:
    table = pq.read_table(folder / f"{name}.parquet", columns=columns)
    codes = {pa.uint8(): "B", pa.uint32(): "I", pa.int64(): "q"}
    return [array(codes[column.type], column.to_numpy().tobytes()) for column in table.columns]
