"""Hashes that outlive a job, so that a table which has not changed need not be read for them again.

What is kept is a block of hashes of one slice under one projection, or the rows that were sampled in a slice. It goes
by a name that says which bytes it was made of, and how: the version of the file, the slice, the columns, the state's
key. Who keeps the books, and how much is kept, is `Kept`'s business; here is what tasks need.
Whatever is wrong with something kept, it is as if it were not there.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import IO, TYPE_CHECKING, Any, Protocol

from r2d2 import __version__
from r2d2.model.kept import SUFFIX, Place, digest_of, read_kept
from r2d2.model.schema import Token
from r2d2.model.versions import FileVersion
from r2d2.stores.local import LocalStore

if TYPE_CHECKING:
    from r2d2.engine.kernels import HashBlock

Piece = Mapping[str, Any]
BYTES_PER_ROW = 16


class Kept(Protocol):
    """Who keeps the books."""

    folder: str  # where it is written to, as workers see it; "" if nothing is to be kept

    @property
    def finds(self) -> bool:
        """Whether there is anything to be found."""

    def find(self, name: str) -> Place | None:
        """Where something is, if it is kept."""

    def grant(self, name: str, size_bytes: int, file: Sequence[Any]) -> bool:
        """Whether there is room for it. *file* is what it is made from: the file's version."""

    def add(self, place: Place) -> None:
        """Something that was granted is there now."""

    def lose(self, names: Collection[str]) -> None:
        """What should be there is not."""


def block_name(part: Mapping[str, Any], tokens: Iterable[Token], *, key: bytes, bits: int) -> str:
    """The name of a slice's hashes under a projection, whatever the order of its columns."""
    return _name([sorted(tokens), bits], part, key)


def sample_name(piece: Piece, *, key: bytes, bits: int) -> str:
    """The name of the rows at some places of a slice."""
    return _name([piece["tokens"], bits, piece["places"]], piece["slice"], key)


def _name(what: Sequence[Any], part: Mapping[str, Any], key: bytes) -> str:
    which = [part[field] for field in ("file", "first", "rows", "partition", "fold")]
    return hashlib.blake2b(json.dumps([_made_by(), what, which]).encode(), key=key, digest_size=16).hexdigest()


@cache
def _made_by() -> list[Any]:
    """Whose reading and hashing it is: another version may read a file otherwise."""
    from r2d2.engine.kernels import HASH_VERSION

    return [HASH_VERSION, __version__, *map(_version, ("pyarrow", "polars"))]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # it was installed under another name: there are several of Polars
        return str(import_module(package).__version__)


def mark_of(key: bytes) -> str:
    """The name of an empty file by which a folder for kept hashes is known, on whatever machine."""
    return "of-" + hashlib.blake2b(b"kept hashes", key=key, digest_size=8).hexdigest()


def is_that_file(part: Mapping[str, Any]) -> bool:
    """Whether the file of a slice can be opened, and is the one that was listed."""
    try:
        with open(part["path"], "rb"):
            now = LocalStore().version(part["path"])
    except OSError:
        return False
    return now == FileVersion(*part["file"])


class Pack:
    """A new file of kept things. Where it cannot be written, nothing is kept, and that is all."""

    def __init__(self, folder: str, key: bytes) -> None:
        self._path = os.path.join(folder, uuid.uuid4().hex + SUFFIX)
        self._usable = bool(folder) and os.path.exists(os.path.join(folder, mark_of(key)))
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Pack:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            with suppress(OSError):  # what did not get there is found to be missing
                self._file.close()

    def write(self, name: str, content: bytes) -> Place | None:
        """Where it is now."""
        if not self._usable:
            return None
        try:
            if self._file is None:
                self._file = open(self._path, "xb", buffering=0)  # noqa: SIM115
            first = self._file.tell()
            written = self._file.write(content)
        except OSError:  # a full disk, say: it is only convenience
            written = 0
        self._usable = written == len(content)
        return Place(name, self._path, first, len(content), digest_of(name, content)) if self._usable else None


def load_block(place: Sequence[Any] | None, rows: int) -> HashBlock | None:
    """The block of so many rows that is kept there."""
    from r2d2.engine.kernels import from_bytes

    content = read_kept(Place(*place)) if place else None
    block = None if content is None else from_bytes(content)
    return block if block is not None and block.rows == rows else None


def bytes_of(piece: Piece) -> int:
    """What has to be read for a piece: of its file, or of what is kept of it."""
    return int(piece.get("bytes", piece["slice"]["bytes"]))


def with_kept(
    pieces: Sequence[Piece], kept: Kept | None, *, key: bytes, bits: int, width: Callable[[int], int]
) -> list[Piece]:
    """Pieces for `block_bundle`, each with what is kept of it already and what of it is to be kept from now on.

    Worth keeping are hashes that take less than what is read for them; those first that save most. *width* is the
    number of a table's columns.
    """
    if kept is None:
        return list(pieces)
    names, stored = [], []
    for piece in pieces:
        wanted = [tokens for _, tokens, _ in piece["projections"]] + ([piece["whole"]] if piece["whole"] else [])
        names.append([block_name(piece["slice"], tokens, key=key, bits=bits) for tokens in wanted])
        stored.append([kept.find(name) for name in names[-1]])
    keep = _granted(pieces, names, stored, kept, width)
    return [
        {**piece, "stored": places, "keep": keep.get(number, []), **_bytes_kept(places)}
        for number, (piece, places) in enumerate(zip(pieces, stored, strict=True))
    ]


def _bytes_kept(places: Sequence[Place | None]) -> dict[str, int]:
    """How much there is to read, if nothing of the table has to be."""
    if not places or None in places:
        return {}
    return {"bytes": sum({place: place.size for place in places if place is not None}.values())}


def _granted(
    pieces: Sequence[Piece],
    names: Sequence[Sequence[str]],
    stored: Sequence[Sequence[Place | None]],
    kept: Kept,
    width: Callable[[int], int],
) -> dict[int, list[tuple[int, str]]]:
    """By piece, the projections whose hashes are to be kept, and under which name."""
    wishes = []
    for number, piece in enumerate(pieces):
        part = piece["slice"]
        size = BYTES_PER_ROW * part["rows"]
        for place, (_, tokens, _) in enumerate(piece["projections"]):
            saved = part["bytes"] * len(tokens) / width(piece["table"])
            if stored[number][place] is None and 0 < size < saved:
                wishes.append((saved / size, number, place, size))
    found: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    for _, number, place, size in sorted(wishes, key=lambda wish: (-wish[0], *wish[1:])):
        if kept.grant(names[number][place], size, pieces[number]["slice"]["file"]):
            found[number].append((place, names[number][place]))
    return found


def sampled_with_kept(
    pieces: Sequence[Piece],
    kept: Kept | None,
    run: Callable[[Sequence[Piece]], Iterable[Mapping[str, Any]]],
    *,
    key: bytes,
    bits: int,
) -> Iterator[Mapping[str, Any]]:
    """The answers of `sample_bundle`: those that are kept, and those that have to be asked for, which are kept then."""
    if kept is None:
        yield from run(pieces)
        return
    names = [sample_name(piece, key=key, bits=bits) for piece in pieces]
    open_pieces = []
    for number, (piece, name) in enumerate(zip(pieces, names, strict=True)):
        rows = _kept_rows(kept.find(name), piece)
        if rows is None:
            open_pieces.append({**piece, "number": number})
        else:
            yield {"table": piece["table"], "rows": rows}
    with Pack(kept.folder, key) as pack:
        for answer in run(open_pieces):
            yield answer
            number = answer["number"]
            content, part = _without_values(answer["rows"]), pieces[number]["slice"]
            if is_that_file(part) and kept.grant(names[number], len(content), part["file"]):
                place = pack.write(names[number], content)
                if place is not None:
                    kept.add(place)


def _kept_rows(place: Place | None, piece: Piece) -> list[Any] | None:
    content = read_kept(place) if place and is_that_file(piece["slice"]) else None
    return None if content is None else json.loads(content)


def _without_values(rows: Iterable[Sequence[Any]]) -> bytes:
    """Sampled rows by their hashes alone: no value of anybody's is to lie about."""
    return json.dumps([[whole, first, "", 0] for whole, first, *_ in rows]).encode()
