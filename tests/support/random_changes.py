"""What people and jobs do to a lake: add, append, rewrite, drop columns, remove rows, rename, delete, damage.

Some tables are partitioned by folders `key=value`; some are put away on purpose and brought back.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support import random_lakes as tables

FIRST_TIME_NS = 1_600_000_000_123_456_789
STEADY = "steady"
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


class ChangingLake:
    """A folder of tables that changes at random; the time of its files moves on with each change.

    With a folder *aside*, tables are put away there and brought back, too. If *tidy*, nobody leaves files beside
    partition folders, which makes a table one that cannot be used.
    """

    def __init__(
        self, folder: Path, rng: random.Random, *, seed: int = 0, aside: Path | None = None, tidy: bool = False
    ) -> None:
        self.folder = folder
        self.tidy = tidy
        self.aside = aside
        self._values: dict[tuple[str, str], tuple[Any, pa.DataType]] = {}  # by column and folder name
        self.rng = rng
        self.seed = seed
        self._made: list[pa.Table] = []  # contents to make others of
        self._files = 0
        self._names = 0
        self.rewritten_in_place = 0
        self._write(STEADY, pa.table({f"steady.{seed}": [1, 2]}))  # so that there is a table, whatever happens
        for _ in range(rng.randint(2, 4)):
            self.add()

    @property
    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir() if path.name != STEADY)

    def change(self) -> str:
        """Do something; its name."""
        steps: list[Callable[[], None]] = [
            self.add,
            self.add_copy,
            self.append,
            self.append,
            self.append_with_column,
            self.rewrite_with_column,
            self.drop_column,
            self.remove_file,
            self.remove_file,
            self.remove_rows,
            self.replace,
            self.rewrite_the_same,
            self.rewrite_in_place,
            self.rename,
            self.delete,
            self.damage,
            self.share_a_file,
            self.nest,
            self.add_stranger,
            self.add_stranger,
        ]
        steps += [self.drop_partition, self.move_partition]
        if self.aside:
            steps += [self.put_away] * 3
            if any(self.aside.iterdir()):
                steps += [self.bring_back] * 4 + [self.rebuild] * 2
        step = self.rng.choice(steps)
        step()
        return step.__name__

    def add(self) -> None:
        self._write(self._new_name(), self._content())

    def add_copy(self) -> None:
        shutil.copytree(self._any(), self.folder / self._new_name())
        self._stamp()

    def append(self) -> None:
        table = self._any()
        content = self._read(table)
        if content is not None:
            pool = [made for made in self._made if made.schema == content.schema] or [content]
            self._part(table, tables._rows(self.rng, self.rng.choice([content, *pool])))

    def append_with_column(self) -> None:
        table = self._any()
        content = self._read(table)
        if content is not None:
            more = pa.array([self.rng.choice([None, 1, 2]) for _ in range(content.num_rows)], pa.int64())
            self._part(table, content.append_column(f"extra{self.rng.randint(0, 1)}.{self._files}", more))

    def rewrite_with_column(self) -> None:
        table = self._any()
        content = self._read(table)
        if content is not None:
            more = pa.array([self.rng.choice([None, 1, 2]) for _ in range(content.num_rows)], pa.int64())
            self._rewrite(table, content.append_column(f"more{self._files}", more))

    def drop_column(self) -> None:
        table = self._any()
        content = self._read(table)
        if content is not None and content.num_columns > 1:
            self._rewrite(table, content.drop_columns([self.rng.choice(content.column_names)]))

    def remove_file(self) -> None:
        files = _files(self._any())
        if len(files) > 1:
            self.rng.choice(files).unlink()

    def add_stranger(self) -> None:
        """A file that has little to do with the others, in a folder of numbered files if there is one."""
        numbered = [self.folder / name for name in self.names if name.startswith("n")]
        table = self.rng.choice(numbered or [self._any()])
        pq.write_table(self._content(), table / self._file_name(table), compression="zstd")
        self._stamp()

    def drop_partition(self) -> None:
        """What a retention job does: one folder less."""
        partitions = self._partitions()
        if len(partitions) > 1:
            shutil.rmtree(self.rng.choice(partitions))

    def move_partition(self) -> None:
        """The same files say something else from now on."""
        partitions = self._partitions()
        if len(partitions) > 1:
            one = self.rng.choice(partitions)
            key = one.name.partition("=")[0]
            one.rename(one.with_name(f"{key}={self.rng.choice(['7', 'x', NO_VALUE])}{self._next()}"))

    def put_away(self) -> None:
        """As deleting on purpose does: the table is kept elsewhere, whole."""
        assert self.aside
        table = self._any()
        if len(self.names) > 2 and not (self.aside / table.name).exists():
            table.rename(self.aside / table.name)

    def bring_back(self) -> None:
        """The same files at their old place."""
        for table in self._away():
            table.rename(self.folder / table.name)

    def rebuild(self) -> None:
        """The same rows at their old place, in other files."""
        for table in self._away():
            content = self._read(table)
            if content is not None:
                shutil.rmtree(table)
                self._write(table.name, content)

    def remove_rows(self) -> None:
        table = self._any()
        content = self._read(table)
        if content is not None:
            self._rewrite(table, tables._rows(self.rng, content))

    def replace(self) -> None:
        self._rewrite(self._any(), self._content())

    def rewrite_the_same(self) -> None:
        table = self._any()
        content = self._read(table)
        if content is not None:
            self._rewrite(table, tables._shuffle(self.rng, content))

    def rewrite_in_place(self) -> None:
        """Other rows in the same physical file, as large as before, and under the time that it had."""
        file = self.rng.choice(_files(self._any()))
        was, before = file.stat(), file.read_bytes()
        try:
            rows = pq.ParquetFile(file).read()
        except (pa.ArrowException, OSError):
            return
        for _ in range(10 if rows.num_rows else 0):
            places = [self.rng.randrange(rows.num_rows) for _ in range(rows.num_rows)]
            out = pa.BufferOutputStream()
            pq.write_table(rows.take(pa.array(places, pa.int64())), out, compression="zstd")
            after = out.getvalue().to_pybytes()
            if len(after) == len(before) and after != before:
                with file.open("r+b") as stream:
                    stream.write(after)
                os.utime(file, ns=(was.st_mtime_ns, was.st_mtime_ns))
                self.rewritten_in_place += 1
                return

    def rename(self) -> None:
        self._any().rename(self.folder / self._new_name())

    def delete(self) -> None:
        if len(self.names) > 2:
            shutil.rmtree(self._any())

    @contextmanager
    def back_for_a_while(self, names: Iterable[str]) -> Iterator[None]:
        """With tables that were put away at their old places."""
        assert self.aside
        for name in names:
            (self.aside / name).rename(self.folder / name)
        try:
            yield
        finally:
            for name in names:
                (self.folder / name).rename(self.aside / name)

    def damage(self) -> None:
        """A footer cut off, or rows that cannot be read."""
        file = self.rng.choice(_files(self._any()))
        content = bytearray(file.read_bytes())
        if self.rng.random() < 0.5:
            del content[-6:]
        else:
            content[4:24] = b"\xff" * min(20, len(content) - 12)
        file.write_bytes(content)
        self._stamp()

    def share_a_file(self) -> None:
        """A table with a file of another one: a hard link."""
        one, other = self._any(), self._any()
        if one != other:
            os.link(self.rng.choice(_files(one)), other / self._file_name(other))

    def nest(self) -> None:
        """Another name for a whole table, or a copy that sorts first."""
        table = self._any()
        into = self.folder / f"{self.rng.choice(['a', 'z'])}{self._next()}"
        into.mkdir()
        for file in _files(table):
            (into / file.relative_to(table)).parent.mkdir(parents=True, exist_ok=True)
            os.link(file, into / file.relative_to(table))

    def _content(self) -> pa.Table:
        if self._made and self.rng.random() < 0.8:
            content = tables._derived(self.rng, self.rng.choice(self._made))
        else:
            content = tables._root(self.rng, self.seed)
        self._made.append(content)
        return content

    def _any(self) -> Path:
        return self.folder / self.rng.choice(self.names)

    def _new_name(self) -> str:
        return f"{self.rng.choice('kmnt')}{self._next()}"

    def _file_name(self, table: Path) -> str:
        """As a writer of tables names a part, or, in tables called n…, a number that may be a part's or not."""
        return f"1-{self._next()}-1.parquet" if table.name.startswith("n") else f"part-{self._next()}.parquet"

    def _next(self) -> int:
        self._names += 1
        return self._names

    def _read(self, table: Path) -> pa.Table | None:
        """All rows, where the files can be read and have one schema."""
        try:
            return pa.concat_tables([self._with_partition(pq.ParquetFile(file).read(), file) for file in _files(table)])
        except (pa.ArrowException, OSError):
            return None

    def _rewrite(self, table: Path, content: pa.Table) -> None:
        shutil.rmtree(table)
        self._write(table.name, content)

    def _write(self, name: str, content: pa.Table) -> None:
        (self.folder / name).mkdir(parents=True)
        keys = [name for name in content.column_names if _can_be_folders(content.column(name))]
        if keys and content.num_rows and content.num_columns > 1 and self.rng.random() < 0.4:
            self._write_partitions(self.folder / name, content, self.rng.choice(keys))
            return
        cuts = sorted(self.rng.randint(0, content.num_rows) for _ in range(self.rng.randint(0, 2)))
        for first, last in zip([0, *cuts], [*cuts, content.num_rows], strict=True):
            self._part(self.folder / name, content.slice(first, last - first))

    def _write_partitions(self, table: Path, content: pa.Table, key: str) -> None:
        rows: dict[str, list[int]] = {}
        for row, value in enumerate(content.column(key).to_pylist()):
            text = NO_VALUE if value is None else quote(str(value), safe=" ")
            self._values[key, text] = value, content.schema.field(key).type
            rows.setdefault(text, []).append(row)
        for text, places in rows.items():
            folder = table / f"{key}={text}"
            folder.mkdir(exist_ok=True)
            part = content.take(pa.array(places, pa.int64())).drop_columns([key])
            pq.write_table(part, folder / self._file_name(table), compression="zstd")
        self._stamp()

    def _with_partition(self, rows: pa.Table, file: Path) -> pa.Table:
        key, is_partition, text = file.parent.name.partition("=")
        if not is_partition:
            return rows
        value, kind = self._values.get((key, text), (None, pa.string()))
        column = pa.array([value] * rows.num_rows, kind)
        return rows.append_column(key, column)

    def _partitions(self) -> list[Path]:
        return sorted(path for path in self._any().iterdir() if "=" in path.name)

    def _away(self) -> list[Path]:
        """One of the tables that were put away and whose place is free; none if there is none."""
        assert self.aside
        away = sorted(table for table in self.aside.iterdir() if not (self.folder / table.name).exists())
        return [self.rng.choice(away)] if away else []

    def _part(self, table: Path, content: pa.Table) -> None:
        keys = sorted({path.name.partition("=")[0] for path in table.iterdir() if "=" in path.name})
        can_be = [name for name in content.column_names if _can_be_folders(content.column(name))]
        if keys and keys[0] in can_be and content.num_columns > 1 and (self.tidy or self.rng.random() < 0.95):
            self._write_partitions(table, content, keys[0])
            return
        if keys and self.tidy:
            return
        pq.write_table(content, table / self._file_name(table), compression="zstd")
        self._stamp()

    def _stamp(self) -> None:
        """Files that were just written get a time of their own, long ago: as if a while had passed since."""
        for file in self.folder.rglob("*.parquet"):
            if file.stat().st_mtime_ns > FIRST_TIME_NS + 10**15:
                self._files += 1
                time = FIRST_TIME_NS + self._files * 1_000_000_007
                os.utime(file, ns=(time, time))


def _files(table: Path) -> list[Path]:
    return sorted(table.rglob("*.parquet"))


def _can_be_folders(column: pa.ChunkedArray) -> bool:
    can_be = (pa.types.is_integer, pa.types.is_string, pa.types.is_date32)
    return any(check(column.type) for check in can_be) and all(len(str(v)) < 40 for v in column.to_pylist())
