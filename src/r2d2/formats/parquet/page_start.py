"""The first bytes of a compressed page: enough to see whether its rows are all there, at no cost to speak of.

Libraries decompress a whole block of Snappy or none of it, which would cost as much again as reading the page. What
cannot be begun here, in another codec, is simply not known.
"""

from __future__ import annotations

import zlib

import pyarrow as pa


def page_start(content: bytes, codec: str, wanted: int) -> bytes | None:
    """So many bytes of what *content*, which may be cut off behind, decompresses to; None if they cannot be had."""
    try:
        if codec == "UNCOMPRESSED":
            return content[:wanted]
        if codec == "SNAPPY":
            return _of_snappy(content, wanted)
        if codec == "GZIP":
            return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(content, wanted)
        if codec == "ZSTD":
            return bytes(pa.CompressedInputStream(pa.BufferReader(content), "zstd").read(wanted))
    except (IndexError, zlib.error, OSError):
        return None
    return None


def _of_snappy(content: bytes, wanted: int) -> bytes:
    """IndexError if the block ends first, or copies what is not there."""
    at = 0
    while content[at] > 0x7F:  # the block's length
        at += 1
    at += 1
    out = bytearray()
    while len(out) < wanted:
        size, offset, at = _snappy_element(content, at)
        if offset:
            for _ in range(min(size, wanted)):
                out.append(out[-offset])
        else:
            out += content[at : at + min(size, wanted)]
            at += size
    return bytes(out[:wanted])


def _snappy_element(content: bytes, at: int) -> tuple[int, int, int]:
    """How many bytes come next, how far back they are copied from (0: they stand here), and where to read on."""
    tag = content[at]
    at += 1
    if tag & 3 == 0:
        size, width = tag >> 2, max(0, (tag >> 2) - 59)
        return (int.from_bytes(content[at : at + width], "little") if width else size) + 1, 0, at + width
    if tag & 3 == 1:
        return 4 + (tag >> 2 & 7), (tag >> 5) << 8 | content[at], at + 1
    width = 2 if tag & 3 == 2 else 4
    return 1 + (tag >> 2), int.from_bytes(content[at : at + width], "little"), at + width
