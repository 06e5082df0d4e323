"""Do the pages of a Parquet file look as their headers say, and do their checksums hold? (HAZARDS 13)

The fast reader believes much: it takes no notice of checksums, and reads on where a header is plainly damaged. Rows
that other readers would refuse must prove nothing, so headers are read here too, strictly. Values are not decoded.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow.parquet as pq

from r2d2.lake.compact_thrift import I32, STRUCT, Damaged, Fields, read_struct

_STRUCT_OF = {0: 5, 2: 7, 3: 8}  # data, dictionary and second data pages: in which field their own header stands
_PAGE: Fields = {
    1: (I32, None), 2: (I32, None), 3: (I32, None), 4: (I32, None),
    5: (STRUCT, {1: (I32, None), 2: (I32, None), 3: (I32, None), 4: (I32, None)}),
    7: (STRUCT, {1: (I32, None), 2: (I32, None)}),
    8: (STRUCT, dict.fromkeys(range(1, 7), (I32, None))),
}  # fmt: skip
_REQUIRED = {0: (1, 2, 3, 4), 2: (1, 2), 3: (1, 2, 3, 4, 5, 6)}
_ENCODINGS = {0: {0, 2, 3, 4, 5, 6, 7, 8, 9}, 2: {0, 2}, 3: {0, 2, 3, 4, 5, 6, 7, 8, 9}}
_LEVELS = 3  # run lengths. An old encoding could stand there too, and the fast reader would not heed it
_HEADER_BYTES = (256, 1 << 16, 1 << 24)  # read at first, and if that is too little


def check_pages(path: str, columns: Iterable[tuple[pq.ColumnChunkMetaData, pq.ColumnSchema]]) -> None:
    """ValueError if a page of these column chunks cannot be what its writer wrote."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        for chunk, schema in columns:
            _check_chunk(descriptor, chunk, schema)
    finally:
        os.close(descriptor)


def _check_chunk(descriptor: int, chunk: pq.ColumnChunkMetaData, schema: pq.ColumnSchema) -> None:
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < at:
        at = chunk.dictionary_page_offset
    values, wanted = 0, chunk.num_values
    codec, nested, nullable = chunk.compression, schema.max_repetition_level > 0, schema.max_definition_level > 0
    while values < wanted:
        try:
            page, content = _read_header(descriptor, at)
            values += _check_page(page, nested=nested, nullable=nullable)
            at = content + page[3]
            _check_content(descriptor, page, content, codec)
        except Damaged as error:
            raise ValueError(f"a page of {schema.path} is damaged: {error}") from error
    if values != wanted:
        raise ValueError(f"the pages of {schema.path} hold {values} values where the footer says {wanted}")


def _read_header(descriptor: int, at: int) -> tuple[dict[int, Any], int]:
    """A page's header, and where its content begins."""
    for size in _HEADER_BYTES:
        buffer = os.pread(descriptor, size, at)
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


def _check_second(own: dict[int, Any], stored: int, size: int) -> None:
    """A page of the second kind keeps its levels apart, and says how many rows it has."""
    levels = own[5] + own[6]
    if min(own[2], own[3], own[5], own[6]) < 0 or max(own[2], own[3]) > own[1] or levels > min(stored, size):
        raise Damaged("its header counts what cannot be")


def _check_content(descriptor: int, page: dict[int, Any], at: int, codec: str) -> None:
    """The checksum, where there is one, and whether the compressed bytes speak of the size that the header states."""
    stored, size = page[3], page[2]
    if 4 in page and page[1] in _STRUCT_OF:
        content = os.pread(descriptor, stored, at)
        if len(content) != stored or zlib.crc32(content) != page[4] & 0xFFFFFFFF:
            raise Damaged("its checksum does not hold")
    levels = page[8][5] + page[8][6] if page[1] == 3 else 0
    tell = _SIZES.get(codec)
    if tell is None or page[1] not in _STRUCT_OF or stored == levels:
        return
    told = tell(descriptor, at + levels, stored - levels)
    if told is not None and told != size - levels and not (page[1] == 3 and stored == size):
        raise Damaged(f"its content has {told} bytes where its header says {size - levels}")


def _snappy_size(descriptor: int, at: int, stored: int) -> int | None:
    size = 0
    for place, byte in enumerate(os.pread(descriptor, min(stored, 5), at)):
        size |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return size
    raise Damaged("its content is not compressed as the footer says")


def _gzip_size(descriptor: int, at: int, stored: int) -> int | None:
    return int.from_bytes(os.pread(descriptor, 4, at + stored - 4), "little") if stored >= 18 else None


def _zstd_size(descriptor: int, at: int, stored: int) -> int | None:
    """What the header of the frame says, if it does."""
    head = os.pread(descriptor, min(stored, 18), at)
    if head[:4] != b"\x28\xb5\x2f\xfd" or len(head) < 9:
        return None
    one_segment, flag = head[4] >> 5 & 1, head[4] >> 6
    first = 5 + (1 - one_segment) + (0, 1, 2, 4)[head[4] & 3]
    length = (one_segment, 2, 4, 8)[flag]
    return int.from_bytes(head[first : first + length], "little") + 256 * (flag == 1) if length else None


def _plain_size(descriptor: int, at: int, stored: int) -> int | None:
    return stored


_SIZES: dict[str, Callable[[int, int, int], int | None]] = {
    "SNAPPY": _snappy_size,
    "GZIP": _gzip_size,
    "ZSTD": _zstd_size,
    "UNCOMPRESSED": _plain_size,
}
