"""The ordinary case of page_guard.py, compiled by Numba: most chunks of most files are settled here.

`check_chunk` says yes only where the strict form would believe the chunk as well. Whatever is less than ordinary
(checksums, NULLs, pages of the second kind, unknown fields, damage) is left to that form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types

UNCOMPRESSED, SNAPPY, GZIP, ZSTD = 0, 1, 2, 3
NOT_ORDINARY = -1
_I32, _STOP = 0x15, 0x00  # the next field, a whole number of 32 bits; no further field
_DATA, _DICTIONARY = 0x2C, 0x4C  # the structs that follow the three sizes of a page header
_STATISTICS, _TRUE, _FALSE = 0x1C, 0x11, 0x12
_FEW_BYTES = 64
_START = 16  # bytes at the start of a page that are looked at, at the most


@njit
def _varint(data: Any, at: Any) -> Any:
    """The number at *at* and where it ends; -1 where it does not."""
    value = np.int64(0)
    for place in range(5):
        if at >= len(data):
            return value, np.int64(-1)
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, (at if value < 1 << 32 else np.int64(-1))
    return value, np.int64(-1)


@njit
def _whole_numbers(data: Any, at: Any, count: Any, out: Any) -> Any:
    """Read so many fields of 32 bits, one after the other; -1 where there is something else."""
    for number in range(count):
        if at < 0 or at >= len(data) or data[at] != _I32:
            return np.int64(-1)
        value, at = _varint(data, at + 1)
        out[number] = (value >> 1) ^ -(value & 1)
    return at


@njit
def _skip_statistics(data: Any, at: Any) -> Any:
    """The end of a struct of statistics whose fields are known ones; -1 for anything else."""
    number = 0
    while 0 <= at < len(data):
        head = data[at]
        at += 1
        if head == _STOP:
            return at
        number += head >> 4
        kind = head & 15
        if head >> 4 == 0 or number > 8:
            return np.int64(-1)
        if number in (1, 2, 5, 6) and kind == 8:
            size, at = _varint(data, at)
            at = at + size if at >= 0 else at
        elif number in (3, 4) and kind == 6:
            while at < len(data) and data[at] > 0x7F:
                at += 1
            at += 1
        elif not (number in (7, 8) and kind in (1, 2)):
            return np.int64(-1)
    return np.int64(-1)


@njit
def _read_header(data: Any, at: Any, page: Any, own: Any) -> Any:
    """Read a page header into *page* (kind, size, stored size) and *own*; where it ends, or -1."""
    at = _whole_numbers(data, at, 3, page)
    if at < 0 or at >= len(data):
        return np.int64(-1)
    struct = data[at]
    if struct == _DATA and page[0] == 0:
        at = _whole_numbers(data, at + 1, 4, own)
        if 0 <= at < len(data) and data[at] == _STATISTICS:
            at = _skip_statistics(data, at + 1)
    elif struct == _DICTIONARY and page[0] == 2:
        at = _whole_numbers(data, at + 1, 2, own)
        if 0 <= at < len(data) and (data[at] == _TRUE or data[at] == _FALSE):
            at += 1
    else:
        return np.int64(-1)
    if at < 0 or at + 2 > len(data) or data[at] != _STOP or data[at + 1] != _STOP:
        return np.int64(-1)
    return at + 2


@njit
def _snappy_start(data: Any, at: Any, end: Any, wanted: Any, out: Any) -> Any:
    """Whether the first bytes of a block could be decompressed into *out*."""
    while at < end and data[at] > 0x7F:
        at += 1
    at += 1
    done = 0
    while done < wanted:
        if at >= end:
            return False
        tag = np.int64(data[at])
        at += 1
        if tag & 3 == 0:
            size = (tag >> 2) + 1
            if size > 60:
                width = size - 60
                size = np.int64(0)
                for place in range(width):
                    if at + place >= end:
                        return False
                    size |= np.int64(data[at + place]) << (8 * place)
                size += 1
                at += width
            for place in range(min(size, wanted - done)):
                if at + place >= end:
                    return False
                out[done] = data[at + place]
                done += 1
            at += size
        else:
            back = 1 if tag & 3 == 1 else 2 if tag & 3 == 2 else 4
            if at + back > end:
                return False
            offset = (tag >> 5) << 8 if back == 1 else np.int64(0)
            for place in range(back):
                offset |= np.int64(data[at + place]) << (8 * place)
            size = 4 + (tag >> 2 & 7) if back == 1 else 1 + (tag >> 2)
            at += back
            if offset == 0 or offset > done:
                return False
            for _ in range(min(size, wanted - done)):
                out[done] = out[done - offset]
                done += 1
    return True


@njit
def _begins_well(data: Any, at: Any, stored: Any, codec: Any, levels: Any, numbered: Any, start: Any) -> Any:
    """Whether the levels are one run of ones, and the numbers of a dictionary's values are some bits wide."""
    run = 0
    rest = levels << 1
    while levels and (run == 0 or rest):
        run += 1
        rest >>= 7
    wanted = (4 + run + 1 if levels else 0) + (1 if numbered else 0)
    if wanted == 0:
        return True
    end = min(at + min(stored, _FEW_BYTES), len(data))
    if codec == SNAPPY:
        if not _snappy_start(data, at, end, wanted, start):
            return False
    else:
        if at + wanted > end:
            return False
        for place in range(wanted):
            start[place] = data[at + place]
    if levels:
        if start[0] != run + 1 or start[1] or start[2] or start[3] or start[4 + run] != 1:
            return False
        rest = levels << 1
        for place in range(run):
            more = 0x80 if place < run - 1 else 0
            if start[4 + place] != (rest & 0x7F) | more:
                return False
            rest >>= 7
    return not (numbered and start[wanted - 1] == 0)


@njit
def _told_size(data: Any, at: Any, stored: Any, codec: Any, size: Any) -> Any:
    """The size that compressed bytes state; *size* itself where they state none, -1 where they are damaged."""
    if codec == UNCOMPRESSED:
        return stored
    if codec == SNAPPY:
        told, after = _varint(data, at)
        return told if 0 <= after <= at + stored else np.int64(-1)
    if codec == GZIP:
        if stored < 18:
            return size
        first, length, more = at + stored - 4, np.int64(4), 0
    else:
        if stored < 9 or data[at] != 0x28 or data[at + 1] != 0xB5 or data[at + 2] != 0x2F or data[at + 3] != 0xFD:
            return size
        head = np.int64(data[at + 4])
        one_segment, flag, dictionary = head >> 5 & 1, head >> 6, head & 3
        first = at + 5 + (1 - one_segment) + (4 if dictionary == 3 else dictionary)
        length = one_segment if flag == 0 else 1 << flag
        more = 256 if flag == 1 else 0
        if length == 0:
            return size
        if first + length > at + stored:
            return np.int64(-1)
    told = np.int64(0)
    for place in range(length):
        told |= np.int64(data[first + place]) << (8 * place)
    return told + more


_SIGNATURE = types.int64(
    types.Array(types.uint8, 1, "C", readonly=True),
    types.int64,
    types.int64,
    types.int64,
    types.boolean,
    types.int64,
    types.Array(types.int64, 2, "C"),
)


@njit([_SIGNATURE], cache=True, nogil=True)
def check_chunk(data: Any, at: Any, wanted: Any, codec: Any, nullable: Any, width: Any, begin: Any) -> Any:
    """Check that a column chunk at *at*, of *wanted* values without NULLs, is as its page headers say in every page.

    NOT_ORDINARY, or how many pages begin with something compressed that is yet to be looked at; *begin* takes the
    place, stored size, values and encoding of each.
    """
    pages = np.int64(0)
    page, own = np.zeros(3, np.int64), np.zeros(4, np.int64)
    start = np.zeros(_START, np.uint8)
    values = np.int64(0)
    while values < wanted:
        if at < 0 or at >= len(data):
            return NOT_ORDINARY
        content = _read_header(data, at, page, own)
        size, stored, more, encoding = page[1], page[2], own[0], own[1]
        if content < 0 or size < 0 or stored < 0 or more < 0 or content + stored > len(data):
            return NOT_ORDINARY
        is_data = page[0] == 0
        if encoding < 0 or encoding > 9 or encoding == 1 or (not is_data and encoding not in (0, 2)):
            return NOT_ORDINARY
        if is_data and nullable and own[2] != 3:
            return NOT_ORDINARY
        plain = not is_data or encoding == 0
        if width and plain and not (is_data and nullable) and size != more * width:
            return NOT_ORDINARY
        if stored and _told_size(data, content, stored, codec, size) != size:
            return NOT_ORDINARY
        if is_data and more:
            numbered = encoding in (2, 8)
            if codec <= SNAPPY:
                if not _begins_well(data, content, stored, codec, more if nullable else 0, numbered, start):
                    return NOT_ORDINARY
            elif nullable or numbered:
                if pages >= len(begin):
                    return NOT_ORDINARY
                begin[pages, 0], begin[pages, 1], begin[pages, 2], begin[pages, 3] = content, stored, more, encoding
                pages += 1
        values += more if is_data else 0
        at = content + stored
    return pages if values == wanted else NOT_ORDINARY
