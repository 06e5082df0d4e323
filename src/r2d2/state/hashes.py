"""The books of what is kept of hashing tables: where everything is, when it was last used, and what has to go.

Things lie in files, one after the other; an index says where. The index is replaced in one step at the end of a run,
and files that it does not name are removed. Things that were not used for longest go first when there is too much of
them, and so does at once what was made from files that the lake no longer has. All of it is a convenience: if any of it
is lost or damaged, tables are read instead.
"""

from __future__ import annotations

import os
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from r2d2.model.kept import SUFFIX, Place, read_kept
from r2d2.model.table import Table
from r2d2.model.versions import FileVersion

MOST_OF_LAKE = 0.2  # never more than this share of the lake's own bytes
MOST_FILES = 64

_INDEX = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("made_from", pa.string(), nullable=False),
        pa.field("file", pa.string(), nullable=False),
        pa.field("first", pa.int64(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("digest", pa.string(), nullable=False),
        pa.field("used", pa.int64(), nullable=False),
    ]
)


@dataclass(slots=True)
class _Thing:
    made_from: str
    place: Place
    used: int  # a higher number is later


Things = dict[str, _Thing]


class KeptHashes:
    """What is kept in one folder. To be written by whoever holds the state's lock; others only read."""

    def __init__(self, folder: Path, *, most_bytes: int, mark: str = "", reading: bool = True) -> None:
        """With a *mark*, the name of a file by which workers know the folder, things can be added.

        Without *reading* everything is new, and what was there before is forgotten.
        """
        self.folder = str(folder.absolute()) if mark and most_bytes else ""
        self._home = folder.absolute()
        self._most_bytes = most_bytes
        self._mark = mark
        self._things = _read_index(self._home) if most_bytes and reading else {}
        self._now = 1 + max((thing.used for thing in self._things.values()), default=0)
        self._granted: dict[str, str] = {}  # by name, what it is made from
        self._used_bytes = 0  # of things that were used or granted by now
        self._begun = False

    @property
    def finds(self) -> bool:
        """Whether there is anything to be found."""
        return bool(self._things)

    def begin(self, *, lake_bytes: int) -> None:
        """How much room there is depends on the lake."""
        self._most_bytes = min(self._most_bytes, int(MOST_OF_LAKE * lake_bytes))
        if self.folder and not self._begun:
            self._begun = True
            try:
                os.makedirs(self.folder, mode=0o700, exist_ok=True)
                _remove_unnamed(self._home, self._things)  # what a run that failed has left
                Path(self.folder, self._mark).touch()
            except OSError:  # a full disk: nothing is kept
                self.folder = ""

    def find(self, name: str) -> Place | None:
        """Where something is, if it is kept."""
        thing = self._things.get(name)
        if thing is None:
            return None
        if thing.used < self._now:
            thing.used = self._now
            self._used_bytes += thing.place.size
        return thing.place

    def grant(self, name: str, size_bytes: int, file: Sequence[Any]) -> bool:
        """Whether there is room for it; what was not used in this run makes room. *file* is the file's version."""
        if not self.folder or name in self._granted or not FileVersion(*file).settled:
            return False
        if self._used_bytes + size_bytes > self._most_bytes:
            return False
        self._granted[name] = _spelled(file)
        self._used_bytes += size_bytes
        return True

    def add(self, place: Place) -> None:
        """Something that was granted is there now."""
        self._things[place.name] = _Thing(self._granted[place.name], place, self._now)

    def lose(self, names: Collection[str]) -> None:
        """What should be there is not."""
        for name in names:
            self._things.pop(name, None)

    def save(self, tables: Iterable[Table]) -> None:
        """Write the books, and remove what is no longer in them. *tables* are those that are in the lake."""
        if not self._home.is_dir():
            return
        with suppress(OSError):  # a full disk: the old books, or none, are as good
            sizes = {_spelled(file.version): file.size_bytes for table in tables for file in table.files}
            self._most_bytes = min(self._most_bytes, int(MOST_OF_LAKE * sum(sizes.values())))
            there = sizes.keys()
            live = _compacted(self._worth_keeping(there), self._home, self._most_bytes)
            _write_index(live, self._home)
            _remove_unnamed(self._home, live)

    @property
    def is_too_large(self) -> bool:
        """Whether there is more than there should be: less may be wanted now than was before."""
        return _bytes_in(self._home) > self._most_bytes

    def _worth_keeping(self, files: Collection[str]) -> Things:
        """The things that were used last, as many as there is room for."""
        live: Things = {}
        size = 0
        for name, thing in sorted(self._things.items(), key=lambda item: -item[1].used):
            if thing.made_from in files and size + thing.place.size <= self._most_bytes:
                live[name] = thing
                size += thing.place.size
        return live


def _spelled(file: Sequence[Any]) -> str:
    """The version of a file, as text."""
    return " ".join(file[:2])


def _bytes_in(folder: Path) -> int:
    with suppress(OSError):
        return sum(entry.stat().st_size for entry in os.scandir(folder) if entry.name.endswith(SUFFIX))
    return 0


def _remove_unnamed(folder: Path, things: Mapping[str, _Thing]) -> None:
    named = {os.path.basename(thing.place.file) for thing in things.values()}
    for path in folder.iterdir():
        if path.suffix in (SUFFIX, ".new") and path.name not in named:
            path.unlink()


def _compacted(things: Things, folder: Path, most_bytes: int) -> Things:
    """The same things, less what is damaged; those of files that hold too much else, and of too many small files, in a
    new one."""
    by_file: defaultdict[str, Things] = defaultdict(dict)
    for name, thing in things.items():
        by_file[thing.place.file][name] = thing
    sizes = {path: size for path in by_file if (size := _size_of(path)) is not None}
    needed = {path: sum(thing.place.size for thing in by_file[path].values()) for path in sizes}
    rewritten: set[str] = set()
    for path in sorted(sizes, key=lambda path: needed[path] / max(1, sizes[path])):
        if sum(sizes.values()) - sum(sizes[path] - needed[path] for path in rewritten) <= most_bytes:
            break
        rewritten.add(path)
    if len(sizes) > MOST_FILES:
        rewritten.update(sorted(sizes, key=lambda path: sizes[path])[: len(sizes) - MOST_FILES // 2])
    kept = {name: thing for path in sizes.keys() - rewritten for name, thing in by_file[path].items()}
    return kept | _moved({name: thing for path in rewritten for name, thing in by_file[path].items()}, folder)


def _size_of(path: str) -> int | None:
    try:
        return os.path.getsize(path)
    except OSError:
        return None


def _moved(things: Things, folder: Path) -> Things:
    """Some things in a file of their own; what cannot be read stays behind."""
    if not things:
        return {}
    target = str(folder / (uuid.uuid4().hex + SUFFIX))
    moved = {}
    with open(target, "xb") as out:
        for name, thing in things.items():
            content = read_kept(thing.place)
            if content is not None:
                place = thing.place._replace(file=target, first=out.tell())
                moved[name] = _Thing(thing.made_from, place, thing.used)
                out.write(content)
    return moved


def _read_index(folder: Path) -> Things:
    """What the books say; nothing if they are missing, damaged, or of another form."""
    try:
        with pq.ParquetFile(folder / "index.parquet", page_checksum_verification=True) as file:
            table = file.read()
        if table.schema != _INDEX:
            return {}
        rows = list(zip(*(table.column(name).to_pylist() for name in _INDEX.names), strict=True))
    except (OSError, pa.ArrowException, ValueError, MemoryError):
        return {}
    return {
        name: _Thing(made_from, Place(name, str(folder / file), first, size, digest), used)
        for name, made_from, file, first, size, digest, used in rows
        if first >= 0 and size >= 0 and os.path.basename(file) == file
    }


def _write_index(things: Things, folder: Path) -> None:
    places = [thing.place for thing in things.values()]
    columns = [
        list(things),
        [thing.made_from for thing in things.values()],
        [os.path.basename(place.file) for place in places],
        [place.first for place in places],
        [place.size for place in places],
        [place.digest for place in places],
        [thing.used for thing in things.values()],
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _INDEX, strict=True)]
    temporary = folder / "index.new"
    pq.write_table(pa.Table.from_arrays(arrays, schema=_INDEX), temporary, write_page_checksum=True)
    os.replace(temporary, folder / "index.parquet")
