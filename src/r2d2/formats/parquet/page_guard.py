"""May the fast reader be believed about some columns of a Parquet file? (HAZARDS 13)

It believes much itself: it takes no notice of checksums, reads on where a header is plainly damaged, and makes
something of levels, which say what is NULL, that other readers refuse. Rows that these would refuse must prove nothing.
So headers are read here, strictly, checksums are verified, and levels must either be checked that way or say that
nothing is NULL. Whatever is odd is left to the strict reader, which has the last word: nothing is refused here. Values
are not decoded.
"""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from r2d2.formats.parquet.page_start import page_start
from r2d2.formats.parquet.thrift import BINARY, BOOL, I32, I64, STRUCT, Damaged, Fields, read_struct
from r2d2.model.loops import Loops

LOOPS = Loops("r2d2.formats.parquet.compiled_guard", worth_loading=5_000)  # chunks, checked without them
_ORDINARY_CODECS = {"UNCOMPRESSED": 0, "SNAPPY": 1, "GZIP": 2, "ZSTD": 3}
_MOST_PAGES = 1024  # of a chunk whose first bytes are looked at

_STRUCT_OF = {0: 5, 2: 7, 3: 8}  # data, dictionary and second data pages: in which field their own header stands
_STATISTICS: Fields = {
    1: (BINARY, None), 2: (BINARY, None), 3: (I64, None), 4: (I64, None), 5: (BINARY, None), 6: (BINARY, None),
    7: (BOOL, None), 8: (BOOL, None),
}  # fmt: skip
_PAGE: Fields = {
    1: (I32, None), 2: (I32, None), 3: (I32, None), 4: (I32, None),
    5: (STRUCT, {1: (I32, None), 2: (I32, None), 3: (I32, None), 4: (I32, None), 5: (STRUCT, _STATISTICS)}),
    6: (STRUCT, {}),
    7: (STRUCT, {1: (I32, None), 2: (I32, None), 3: (BOOL, None)}),
    8: (STRUCT, dict.fromkeys(range(1, 7), (I32, None)) | {7: (BOOL, None), 8: (STRUCT, _STATISTICS)}),
}  # fmt: skip
_REQUIRED = {0: (1, 2, 3, 4), 2: (1, 2), 3: (1, 2, 3, 4, 5, 6)}
_ENCODINGS = {0: {0, 2, 3, 4, 5, 6, 7, 8, 9}, 2: {0, 2}, 3: {0, 2, 3, 4, 5, 6, 7, 8, 9}}
_WIDTHS = {"INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
_PLAIN = 0
_NUMBERED = (2, 8)  # values by their numbers in the dictionary
_LEVELS = 3  # run lengths. An old encoding could stand there too, and the fast reader would not heed it
_START_BYTES = {"ZSTD": (1 << 17) + 64, "GZIP": 4096}  # to be read of a page to see how it begins
_FEW_BYTES = 64
_HEADER_BYTES = (256, 1 << 16, 1 << 24)  # read at first, and if that is too little
_AHEAD_BYTES = 512
_FURTHEST = 1 << 62


Chunks = Iterable[tuple[pq.ColumnChunkMetaData, pq.ColumnSchema]]


def can_be_believed(path: str, columns: Sequence[Chunks]) -> list[bool]:
    """Whether every page of each column's chunks is as its header says, and without NULLs or with a checksum."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        file = _File(descriptor)
        return [_are_sound(file, chunks) for chunks in columns]
    finally:
        os.close(descriptor)


def _are_sound(file: _File, chunks: Chunks) -> bool:
    try:
        return all(_is_ordinary(file, chunk, schema) or _check_chunk(file, chunk, schema) for chunk, schema in chunks)
    except Damaged:
        return False


class _File:
    """Reads a little ahead: most of what is asked about a page stands right behind its header."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._at, self._buffer = 0, b""

    @cached_property
    def mapped(self) -> NDArray[np.uint8]:
        """The whole file."""
        return np.frombuffer(mmap.mmap(self._descriptor, 0, access=mmap.ACCESS_READ), np.uint8)

    def read(self, at: int, size: int) -> bytes:
        """So many bytes from *at* on, or fewer where the file ends."""
        first = at - self._at
        if first < 0 or first + size > len(self._buffer):
            first, self._at, self._buffer = 0, at, os.pread(self._descriptor, max(size, _AHEAD_BYTES), at)
        return self._buffer[first : first + size]


def _is_ordinary(file: _File, chunk: pq.ColumnChunkMetaData, schema: pq.ColumnSchema) -> bool:
    """Whether the compiled form, where it is loaded, finds nothing but ordinary pages without NULLs."""
    LOOPS.expect(1)
    codec = _ORDINARY_CODECS.get(chunk.compression)
    nullable = schema.max_definition_level > 0
    if not LOOPS.compiled or codec is None or schema.max_repetition_level or (nullable and _has_nulls(chunk)):
        return False
    at = chunk.data_page_offset
    if chunk.has_dictionary_page:
        at, after = chunk.dictionary_page_offset, at
        if not 0 < at < after:
            return False
    width, begin = _width(chunk, schema), np.empty((_MOST_PAGES, 4), np.int64)
    pages = LOOPS.compiled.check_chunk(file.mapped, at, chunk.num_values, codec, nullable, width, begin)
    return pages != LOOPS.compiled.NOT_ORDINARY and all(
        _begins_well(file, {1: 0, 3: stored, 5: {2: encoding}}, place, chunk.compression, values if nullable else 0)
        for place, stored, values, encoding in begin[:pages].tolist()
    )


def _width(chunk: pq.ColumnChunkMetaData, schema: pq.ColumnSchema) -> int:
    """Bytes of a plain value; 0 where they vary."""
    return schema.length if chunk.physical_type == "FIXED_LEN_BYTE_ARRAY" else _WIDTHS.get(chunk.physical_type, 0)


def _check_chunk(file: _File, chunk: pq.ColumnChunkMetaData, schema: pq.ColumnSchema) -> bool:
    at = chunk.data_page_offset
    if chunk.has_dictionary_page:
        if not 0 < chunk.dictionary_page_offset < at:
            raise Damaged("its dictionary does not come first: readers begin at one place or the other")
        at = chunk.dictionary_page_offset
    values, wanted = 0, chunk.num_values
    codec, nested, nullable = chunk.compression, schema.max_repetition_level > 0, schema.max_definition_level > 0
    width = _width(chunk, schema)
    full = not nullable or not _has_nulls(chunk)
    checked = True
    while values < wanted:
        page, content = _read_header(file, at)
        more = _check_page(page, nested=nested, nullable=nullable)
        _check_size(page, width, nullable=nullable)
        _check_content(file, page, content, codec)
        if more and 4 not in page:
            checked = False
            full = full and _begins_well(file, page, content, codec, more if nullable else 0)
        values, at = values + more, content + page[3]
    return values == wanted and (full or checked)


def _has_nulls(chunk: pq.ColumnChunkMetaData) -> bool:
    """Whether the footer says so, or does not say."""
    told = chunk.statistics
    return told is None or not told.has_null_count or told.null_count > 0


def _begins_well(file: _File, page: dict[int, Any], at: int, codec: str, levels: int) -> bool:
    """Whether the levels of a page, if it has any, are one run of ones, as all writers have it where nothing is NULL.

    And whether the numbers of a dictionary's values, if there are such, are some bits wide. If they say that they are
    none wide, the fast reader does not look at them any further.
    """
    run = _varint(levels << 1) + b"\x01" if levels else b""
    if page[1] == 3:  # these levels are never compressed
        own = page[8]
        if levels and (own[5] != len(run) or file.read(at + own[6], len(run)) != run):
            return False
        before, run, numbered = own[5] + own[6], b"", own[4] in _NUMBERED
        codec = codec if own.get(7, True) else "UNCOMPRESSED"
    else:
        before, numbered = 0, page[5][2] in _NUMBERED
        run = len(run).to_bytes(4, "little") + run if levels else b""
    wanted = len(run) + numbered
    if not wanted:
        return True
    stored = file.read(at + before, min(page[3] - before, _START_BYTES.get(codec, _FEW_BYTES)))
    start = page_start(stored, codec, wanted)
    return start is not None and len(start) == wanted and start.startswith(run) and not (numbered and start[-1] == 0)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _read_header(file: _File, at: int) -> tuple[dict[int, Any], int]:
    """A page's header, and where its content begins."""
    if not 0 <= at < _FURTHEST:
        raise Damaged("it lies nowhere")
    for size in _HEADER_BYTES:
        buffer = file.read(at, size)
        try:
            page, length = read_struct(buffer, 0, _PAGE)
        except IndexError:
            if len(buffer) < size:
                break
        else:
            return page, at + length
    raise Damaged("its header does not end")


def _check_page(page: dict[int, Any], *, nested: bool, nullable: bool) -> int:
    """How many of the column's values the page holds, if its header is sound."""
    if not {1, 2, 3} <= page.keys() or page[2] < 0 or page[3] < 0:
        raise Damaged("its header lacks a size")
    kind = page[1]
    if kind not in _STRUCT_OF:
        return 0  # an index, or something newer: no values
    own = page.get(_STRUCT_OF[kind])
    if own is None or any(number not in own for number in _REQUIRED[kind]):
        raise Damaged("its header lacks a field")
    values: int = own[1]
    if values < 0 or own[4 if kind == 3 else 2] not in _ENCODINGS[kind]:
        raise Damaged("its header names no known encoding, or fewer than no values")
    if kind == 0 and ((nullable and own[3] != _LEVELS) or (nested and own[4] != _LEVELS)):
        raise Damaged("its header names an encoding of levels that is not read")
    if kind == 3:
        _check_second(own, page[3], page[2])
    return 0 if kind == 2 else values


def _check_size(page: dict[int, Any], width: int, *, nullable: bool) -> None:
    """Plain values of a fixed width take as many bytes as there are values, where the header tells how many."""
    kind = page[1]
    if not width or kind not in _STRUCT_OF or (kind == 0 and nullable):
        return
    own = page[_STRUCT_OF[kind]]
    if kind == 3:
        plain, size, values = own[4] == _PLAIN, page[2] - own[5] - own[6], own[1] - own[2]
    else:
        plain, size, values = kind == 2 or own[2] == _PLAIN, page[2], own[1]
    if plain and size != values * width:
        raise Damaged(f"its header says {values} values of {width} bytes, and {size} bytes")


def _check_second(own: dict[int, Any], stored: int, size: int) -> None:
    """A page of the second kind keeps its levels apart, and says how many rows it has."""
    levels = own[5] + own[6]
    if min(own[2], own[3], own[5], own[6]) < 0 or max(own[2], own[3]) > own[1] or levels > min(stored, size):
        raise Damaged("its header counts what cannot be")


def _check_content(file: _File, page: dict[int, Any], at: int, codec: str) -> None:
    """The checksum, where there is one, and whether the compressed bytes speak of the size that the header states."""
    kind, stored, size = page[1], page[3], page[2]
    if kind not in _STRUCT_OF:
        return
    if 4 in page:
        content = file.read(at, stored)
        if len(content) != stored or zlib.crc32(content) != page[4] & 0xFFFFFFFF:
            raise Damaged("its checksum does not hold")
    levels = page[8][5] + page[8][6] if kind == 3 else 0
    is_plain = codec == "UNCOMPRESSED" or (kind == 3 and not page[8].get(7, True))
    tell = _plain_size if is_plain else _SIZES.get(codec)
    told = tell(file, at + levels, stored - levels) if tell and stored > levels else None
    if told is not None and told != size - levels:
        raise Damaged(f"its content has {told} bytes where its header says {size - levels}")


def _snappy_size(file: _File, at: int, stored: int) -> int | None:
    size = 0
    for place, byte in enumerate(file.read(at, min(stored, 5))):
        size |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return size
    raise Damaged("its content is not compressed as the footer says")


def _gzip_size(file: _File, at: int, stored: int) -> int | None:
    return int.from_bytes(file.read(at + stored - 4, 4), "little") if stored >= 18 else None


def _zstd_size(file: _File, at: int, stored: int) -> int | None:
    """The size that the header of the frame states, if it does."""
    head = file.read(at, min(stored, 18))
    if head[:4] != b"\x28\xb5\x2f\xfd" or len(head) < 9:
        return None
    one_segment, flag = head[4] >> 5 & 1, head[4] >> 6
    first = 5 + (1 - one_segment) + (0, 1, 2, 4)[head[4] & 3]
    length = (one_segment, 2, 4, 8)[flag]
    return int.from_bytes(head[first : first + length], "little") + 256 * (flag == 1) if length else None


def _plain_size(file: _File, at: int, stored: int) -> int | None:
    return stored


_SIZES: dict[str, Callable[[_File, int, int], int | None]] = {
    "SNAPPY": _snappy_size,
    "GZIP": _gzip_size,
    "ZSTD": _zstd_size,
}
