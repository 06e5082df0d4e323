"""The tables a lake starts from: built in, given as Parquet files, or TPC-H (section 6.1.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from r2d2.errors import UserError
from r2d2.synthetic.builtin import BUILTIN_ROOTS, BuiltinRoot
from r2d2.synthetic.store import StoredTable, open_table
from r2d2.synthetic.stream import Stream
from r2d2.synthetic.tpch import generate_tpch, tpch_scale


@dataclass(frozen=True, slots=True)
class Root:
    """A table to start from. `open` returns its rows as a new stream each time."""

    name: str
    origin: str  # for the lineage: "builtin", "tpch" or the path it was read from
    rows: int
    home: str  # the folder of the lake it belongs in
    open: Callable[[], Stream]


@contextmanager
def open_roots(
    roots: str | Path | Sequence[str | Path],
    *,
    rows: int,
    seed: int,
    scale_factor: float | None,
    batch_rows: int,
    scratch: Path,
) -> Iterator[list[Root]]:
    """The requested roots, most popular first; temporary files for them are removed at the end."""
    if roots == "tpch":
        with TemporaryDirectory(prefix=".tpch-", dir=scratch) as folder:
            scale = tpch_scale(rows) if scale_factor is None else scale_factor
            paths = generate_tpch(Path(folder), scale_factor=scale)
            yield [_given(path, origin="tpch", home="tpch", batch_rows=batch_rows) for path in paths]
    elif roots == "builtin":
        yield [_builtin(kind, rows=rows, seed=seed) for kind in BUILTIN_ROOTS]
    else:
        yield [_given(path, origin=str(path), home="raw", batch_rows=batch_rows) for path in _paths(roots)]


def _paths(roots: str | Path | Sequence[str | Path]) -> list[Path]:
    paths = [Path(root) for root in ([roots] if isinstance(roots, str | Path) else roots)]
    missing = [path for path in paths if not path.exists()]
    if missing or not paths:
        raise UserError(
            f"no such root: {missing[0]}" if missing else "no root was given",
            hint="give 'builtin', 'tpch', or Parquet files and folders",
        )
    return paths


def _builtin(kind: BuiltinRoot, *, rows: int, seed: int) -> Root:
    def stream() -> Stream:
        return Stream(kind.schema(), kind.batches(biggest=rows, seed=seed))

    return Root(kind.name, "builtin", kind.rows(rows), kind.home, stream)


def _given(path: Path, *, origin: str, home: str, batch_rows: int) -> Root:
    table: StoredTable = open_table(path)
    name = path.stem if path.is_file() else path.resolve().name
    return Root(name, origin, table.rows, home, partial(table.stream, batch_rows=batch_rows))
