"""Recognise tables of the same files by their raw bytes: a copy need not be decoded again."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from r2d2.engine.rows.hash_slices import BYTES_PER_TASK, Hashing, bytes_to_read, failure
from r2d2.engine.rows.table_content import TableContent
from r2d2.engine.run.contract import Task
from r2d2.errors import TableError
from r2d2.model.progress import tick
from r2d2.model.work import Digested, DigestWork, Failed, ShippedSlice

CHUNK_BYTES = 64 << 20  # of a file, for one work item
LEAST_BYTES = 1 << 20  # a smaller table is decoded sooner than its bytes are compared
_AT_ONCE = 4 << 20

Groups = Iterable[Collection[int]]


def of_same_shape(groups: Groups, tables: Sequence[TableContent]) -> list[list[int]]:
    """The tables of each group whose files are cut alike: as many rows and bytes in each part, the same folder values.

    Only they can be the same byte by byte.
    """
    alike = []
    for group in groups:
        by_shape: defaultdict[object, list[int]] = defaultdict(list)
        for table in group:
            if sum(part["bytes"] for part in tables[table].slices) >= LEAST_BYTES:
                by_shape[tuple(sorted(repr(shape) for shape in _files(tables[table]).values()))].append(table)
        alike += [same for same in by_shape.values() if len(same) > 1]
    return alike


def _files(content: TableContent) -> dict[str, list[object]]:
    """By path, everything that the slices of a file state but where it lies and which version of it is there."""
    files: defaultdict[str, list[object]] = defaultdict(list)
    for part in content.slices:
        files[part["path"]].append(sorted((k, repr(v)) for k, v in part.items() if k not in ("path", "file")))
    return dict(files)


def digest_work(table: int, content: TableContent) -> Iterator[DigestWork]:
    """Ask for the digests of all files of a table, chunk by chunk; the last chunk of a file takes what is left."""
    parts: dict[str, ShippedSlice] = {part["path"]: part for part in content.slices}
    sizes: defaultdict[str, int] = defaultdict(int)
    for part in content.slices:
        sizes[part["path"]] += part["bytes"]
    for path, part in parts.items():
        chunks = max(1, sizes[path] // CHUNK_BYTES)
        for chunk in range(chunks):
            is_last = chunk == chunks - 1
            size = sizes[path] - chunk * CHUNK_BYTES if is_last else CHUNK_BYTES
            slice_: ShippedSlice = {**part, "bytes": size}
            yield {"kind": "digest", "table": table, "slice": slice_, "chunk": chunk, "is_last": is_last}


def digesting(hashing: Hashing) -> Task[DigestWork, Digested | Failed]:
    """The task that digests raw bytes."""
    return Task("digest", partial(digest_bundle, hashing=hashing), bytes_to_read, BYTES_PER_TASK, hashing.given)


def digest_bundle(bundle: Sequence[DigestWork], *, hashing: Hashing) -> Iterator[Digested | Failed]:
    """The digest of each chunk."""
    for item in bundle:
        part, chunk = item["slice"], item["chunk"]
        try:
            digest = _digest(hashing, part, chunk * CHUNK_BYTES, None if item["is_last"] else CHUNK_BYTES)
        except TableError as error:
            yield failure(item["table"], error)
        else:
            tick(part["bytes"])
            yield {
                "kind": "digested",
                "table": item["table"],
                "path": part["path"],
                "chunk": chunk,
                "digest": digest,
            }


def _digest(hashing: Hashing, part: ShippedSlice, begin: int, size: int | None) -> str:
    """SHA-256 of so many bytes of a file, or of all to its end."""
    assert hashing.raw is not None
    digest = hashlib.sha256()
    end = None if size is None else begin + size
    while end is None or begin < end:
        some = hashing.raw(part, begin, _AT_ONCE if end is None else min(_AT_ONCE, end - begin))
        if not some:
            break
        digest.update(some)
        begin += len(some)
    return digest.hexdigest()


def equal_tables(
    alike: Groups, tables: Sequence[TableContent], digests: Mapping[int, Mapping[tuple[str, int], str]]
) -> dict[int, int]:
    """By table the first of its group with the same bytes, for tables that all were read."""
    first: dict[int, int] = {}
    for group in alike:
        seen: dict[object, int] = {}
        for table in group:
            if table in digests:
                first[table] = seen.setdefault(_content(tables[table], digests[table]), table)
    return first


def _content(content: TableContent, digests: Mapping[tuple[str, int], str]) -> object:
    """Everything that the rows of a table depend on."""
    chunks: defaultdict[str, list[str]] = defaultdict(list)
    for (path, _), digest in sorted(digests.items()):
        chunks[path].append(digest)
    return tuple(sorted((repr(shape), *chunks[path]) for path, shape in _files(content).items()))
