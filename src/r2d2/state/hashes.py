"""The books of what is kept of hashing tables: where everything is, when it was last used, and what has to go.

Things lie in files, one after the other; an index says where. The index is replaced in one step at the end of a run,
and files that it does not name are removed then. Things that were not used for longest go first when there is too much
of them, and so does at once what was made from files that the lake no longer has. All of it is a convenience: if any of
it is lost or damaged, tables are read instead.
"""

from __future__ import annotations

import os
import uuid
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from r2d2.model.table import Table

MOST_OF_LAKE = 0.2  # never more than this share of the lake's own bytes
SETTLED_NS = 2_000_000_000  # a file that was written less than this before it was listed may change unnoticed
SUFFIX = ".hashes"

Place = tuple[str, int, int, int]  # file, first byte, length, CRC-32

_INDEX = pa.schema(
    [
        ("name", pa.string()),
        ("made_from", pa.string()),
        ("file", pa.string()),
        ("first", pa.int64()),
        ("size", pa.int64()),
        ("crc", pa.uint32()),
        ("used", pa.int64()),
    ]
)


@dataclass(slots=True)
class _Thing:
    made_from: str
    place: Place
    used: int  # a higher number is later


class KeptHashes:
    """What is kept in one folder. To be saved by whoever holds the state's lock; others only read."""

    def __init__(self, folder: Path, *, most_bytes: int, mark: str = "", reading: bool = True) -> None:
        """With a *mark*, the name of a file by which workers know the folder, things can be added."""
        self.folder = str(folder.absolute()) if mark and most_bytes else ""
        self._home = folder.absolute()
        self._most_bytes = most_bytes
        self._listed_ns = 0
        self._mark = mark
        self._reading = reading
        self._things = _read_index(self._home) if most_bytes else {}
        self._now = 1 + max((thing.used for thing in self._things.values()), default=0)
        self._granted: dict[str, str] = {}  # by name, what it is made from
        self._used_bytes = 0  # of things that were used or granted by now
        self._used: set[str] = set()

    def begin(self, *, listed_ns: int, lake_bytes: int) -> None:
        """How much room there is depends on the lake; of files that were still being written nothing is kept."""
        self._listed_ns = listed_ns
        self._most_bytes = min(self._most_bytes, int(MOST_OF_LAKE * lake_bytes))
        if self.folder:
            try:
                os.makedirs(self.folder, exist_ok=True)
                Path(self.folder, self._mark).touch()
            except OSError:  # a full disk: nothing is kept
                self.folder = ""

    def find(self, name: str) -> Place | None:
        """Where something is, if it is kept."""
        thing = self._things.get(name) if self._reading else None
        if thing is None:
            return None
        if name not in self._used:
            self._used.add(name)
            self._used_bytes += thing.place[2]
        thing.used = self._now
        return thing.place

    def grant(self, name: str, size_bytes: int, file: Sequence[int]) -> bool:
        """Whether there is room for it; what was not used in this run makes room."""
        if not self.folder or name in self._granted or file[-1] > self._listed_ns - SETTLED_NS:
            return False
        if self._used_bytes + size_bytes > self._most_bytes:
            return False
        self._granted[name] = _spelled(file)
        self._used_bytes += size_bytes
        return True

    def add(self, name: str, place: Place) -> None:
        """Something that was granted is there now."""
        self._things[name] = _Thing(self._granted[name], place, self._now)

    def lose(self, places: Collection[Place]) -> None:
        """What should be there is not."""
        gone = set(places)
        self._things = {name: thing for name, thing in self._things.items() if thing.place not in gone}

    def save(self, tables: Iterable[Table]) -> None:
        """Write the books, and remove what is no longer in them. *tables* are those of the lake."""
        if not self._home.is_dir():
            return
        with suppress(OSError):  # a full disk: the old books, or none, are as good
            there = {_spelled((*file.identity, file.size_bytes, file.modified_ns)) for t in tables for file in t.files}
            live = self._worth_keeping(there)
            live = _compacted(live, self._home, self._most_bytes)
            _write_index(live, self._home)
            used = {os.path.basename(thing.place[0]) for thing in live.values()}
            for path in self._home.iterdir():
                if path.suffix in (SUFFIX, ".new") and path.name not in used:
                    path.unlink()

    def _worth_keeping(self, files: Collection[str]) -> dict[str, _Thing]:
        """The things that were used last, as many as there is room for."""
        live: dict[str, _Thing] = {}
        size = 0
        for name, thing in sorted(self._things.items(), key=lambda item: -item[1].used):
            if thing.made_from in files and size + thing.place[2] <= self._most_bytes:
                live[name] = thing
                size += thing.place[2]
        return live


def _spelled(file: Iterable[int]) -> str:
    """Device, inode, size and time of a file."""
    return " ".join(map(str, file))


def _compacted(things: dict[str, _Thing], folder: Path, most_bytes: int) -> dict[str, _Thing]:
    """The same things; if their files hold too much else, those with the most of it are written anew without."""
    by_file: defaultdict[str, list[str]] = defaultdict(list)
    for name, thing in things.items():
        by_file[thing.place[0]].append(name)
    sizes = {path: os.path.getsize(path) for path in by_file if os.path.exists(path)}
    needed = {path: sum(things[name].place[2] for name in by_file[path]) for path in sizes}
    kept = {name: thing for name, thing in things.items() if thing.place[0] in sizes}
    total = sum(sizes.values())
    for path in sorted(sizes, key=lambda path: needed[path] / max(1, sizes[path])):
        if total <= most_bytes:
            break
        total -= sizes[path] - needed[path]
        kept |= _moved({name: kept.pop(name) for name in by_file[path]}, folder)  # less what is damaged
    return kept


def _moved(things: dict[str, _Thing], folder: Path) -> dict[str, _Thing]:
    """Some things of one file, in a file of their own."""
    target = str(folder / (uuid.uuid4().hex + SUFFIX))
    moved = {}
    with open(target, "xb") as out:
        for name, thing in things.items():
            path, first, size, crc = thing.place
            with open(path, "rb") as old:
                old.seek(first)
                content = old.read(size)
            if zlib.crc32(content) == crc:
                moved[name] = _Thing(thing.made_from, (target, out.tell(), size, crc), thing.used)
                out.write(content)
    return moved


def _read_index(folder: Path) -> dict[str, _Thing]:
    """What the books say; nothing if they are missing, damaged, or of another form."""
    try:
        table = pq.read_table(folder / "index.parquet", schema=_INDEX)
    except (OSError, pa.ArrowException, ValueError):
        return {}
    rows = zip(*(table.column(name).to_pylist() for name in _INDEX.names), strict=True)
    return {
        name: _Thing(made_from, (str(folder / file), first, size, crc), used)
        for name, made_from, file, first, size, crc, used in rows
    }


def _write_index(things: dict[str, _Thing], folder: Path) -> None:
    places = [thing.place for thing in things.values()]
    columns = [
        list(things),
        [thing.made_from for thing in things.values()],
        [os.path.basename(path) for path, *_ in places],
        [first for _, first, _, _ in places],
        [size for _, _, size, _ in places],
        [crc for *_, crc in places],
        [thing.used for thing in things.values()],
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _INDEX, strict=True)]
    temporary = folder / "index.new"
    pq.write_table(pa.Table.from_arrays(arrays, schema=_INDEX), temporary)
    os.replace(temporary, folder / "index.parquet")
