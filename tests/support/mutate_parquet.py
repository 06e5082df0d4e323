"""What can happen to the bytes of a Parquet file: from a flipped bit to a field of its metadata that lies."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import pyarrow.parquet as pq

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_TELLING = (0, 1, 2, 3, 7, 127, 128, 255, 1 << 14, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 40, (1 << 63) - 1)


@dataclass(frozen=True)
class Span:
    """A value of Thrift's compact protocol: where it stands and what it is."""

    first: int
    last: int
    kind: str  # varint, text, header, size


def mutate(content: bytes, pages: list[int], dice: random.Random) -> bytes:
    """The file with something done to it, most often once, sometimes more. *pages*: where its pages begin."""
    for _ in range(dice.choice((1, 1, 1, 1, 2, 5))):
        if dice.random() < 0.2:
            content = _edit_a_page(content, pages, dice)
        else:
            content = dice.choice(MUTATIONS)(content, dice)
    return content


def pages_of(content: bytes) -> list[int]:
    """Where the column chunks of an undamaged file begin, each with the header of a page."""
    metadata = pq.ParquetFile(io.BytesIO(content)).metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    columns = [group.column(number) for group in groups for number in range(metadata.num_columns)]
    places = {place for one in columns for place in (one.dictionary_page_offset, one.data_page_offset)}
    return sorted(place for place in places if place)


def _flip(content: bytes, dice: random.Random) -> bytes:
    return _put(content, place := _place(content, dice), bytes([_at(content, place) ^ 1 << dice.randrange(8)]))


def _overwrite(content: bytes, dice: random.Random) -> bytes:
    return _put(content, _place(content, dice), dice.randbytes(dice.choice((1, 1, 2, 4, 8, 30))))


def _truncate(content: bytes, dice: random.Random) -> bytes:
    return content[: _place(content, dice)]


def _insert(content: bytes, dice: random.Random) -> bytes:
    place = _place(content, dice)
    return content[:place] + dice.randbytes(dice.choice((1, 1, 3, 16))) + content[place:]


def _remove(content: bytes, dice: random.Random) -> bytes:
    place = _place(content, dice)
    return content[:place] + content[place + dice.choice((1, 1, 3, 16)) :]


def _zero(content: bytes, dice: random.Random) -> bytes:
    place = _place(content, dice)
    return _put(content, place, bytes(min(dice.choice((1, 4, 16, 512)), len(content) - place)))


def _swap(content: bytes, dice: random.Random) -> bytes:
    size = dice.choice((1, 2, 8, 32))
    one, two = _place(content, dice), _place(content, dice)
    return _put(_put(content, one, content[two : two + size]), two, content[one : one + size])


def _double_the_tail(content: bytes, dice: random.Random) -> bytes:
    return content + content[_place(content, dice) :]


def _lie_about_the_footer(content: bytes, dice: random.Random) -> bytes:
    """Another length of the footer: a little off, or absurd."""
    length = int.from_bytes(content[-8:-4], "little") + dice.choice((-9, -1, 1, 2, 8, 1000, 1 << 20, 1 << 31))
    return content[:-8] + (length % (1 << 32)).to_bytes(4, "little") + content[-4:]


def _edit_the_footer(content: bytes, dice: random.Random) -> bytes:
    """One field of the metadata has another value, and the rest still fits."""
    length = int.from_bytes(content[-8:-4], "little")
    if length + 8 > len(content):
        return content
    body, footer = content[: -8 - length], content[-8 - length : -8]
    footer = _edit(footer, list(_spans(footer, 0)), dice)
    return body + footer + len(footer).to_bytes(4, "little") + content[-4:]


def _edit_a_page(content: bytes, pages: list[int], dice: random.Random) -> bytes:
    """One field of one page's header has another value, of as many bytes if that can be."""
    return _edit(content, list(_spans(content, dice.choice(pages))), dice) if pages else content


def _trade_fields(content: bytes, dice: random.Random) -> bytes:
    """Two fields of the metadata that are as long as one another have each other's value."""
    length = int.from_bytes(content[-8:-4], "little")
    start = len(content) - 8 - length
    spans = [span for span in _spans(content, start) if span.kind in ("varint", "text")] if start >= 0 else []
    if not spans:
        return content
    one = dice.choice(spans)
    two = dice.choice([span for span in spans if span.last - span.first == one.last - one.first])
    swapped = _put(content, one.first, content[two.first : two.last])
    return _put(swapped, two.first, content[one.first : one.last])


Mutation = Callable[[bytes, random.Random], bytes]
MUTATIONS: tuple[Mutation, ...] = (
    _flip, _flip, _overwrite, _truncate, _insert, _remove, _zero, _swap, _double_the_tail, _lie_about_the_footer,
    _edit_the_footer, _edit_the_footer, _edit_the_footer, _trade_fields,
)  # fmt: skip


def _edit(content: bytes, spans: list[Span], dice: random.Random) -> bytes:
    if not spans:
        return content
    span = dice.choice(spans)
    old = content[span.first : span.last]
    if span.kind == "varint":
        new = _varint(_another(old, dice), len(old))
    elif span.kind == "text" and old:
        new = _put(old, dice.randrange(len(old)), dice.randbytes(1))
    else:
        new = bytes([dice.randrange(256)]) * len(old)
    return content[: span.first] + new + content[span.last :]


def _another(old: bytes, dice: random.Random) -> int:
    value = 0
    for shift, byte in enumerate(old):
        value |= (byte & 0x7F) << 7 * shift
    near = [value ^ 1, value + 2, max(0, value - 2), value * 2, value // 2, value ^ 1 << dice.randrange(20)]
    return dice.choice((*near, *near, *_TELLING)) % (1 << 64)


def _varint(value: int, length: int) -> bytes:
    """The value in as many bytes as before, or in more if it needs them."""
    out = bytearray()
    while value > 0x7F or len(out) < length - 1:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _spans(content: bytes, at: int) -> Iterator[Span]:
    """The values of the struct that begins at *at*, as far as they can be told."""
    found: list[Span] = []
    with suppress(IndexError, ValueError):  # damaged already; what was found stands
        _struct(content, at, found, 0)
    yield from found


def _struct(content: bytes, at: int, found: list[Span], depth: int) -> int:
    while content[at] != 0:
        found.append(Span(at, at + 1, "header"))
        kind, long_form = content[at] & 15, content[at] < 16
        at = _skip_varint(content, at + 1) if long_form else at + 1
        at = _value(content, at, kind, found, depth + 1)
    return at + 1


def _value(content: bytes, at: int, kind: int, found: list[Span], depth: int) -> int:
    if depth > 12 or at >= len(content):
        raise ValueError
    if kind in (_TRUE, _FALSE):
        return at
    if kind == _BYTE:
        return at + 1
    if kind in (_I16, _I32, _I64):
        end = _skip_varint(content, at)
        found.append(Span(at, end, "varint"))
        return end
    if kind == _DOUBLE:
        return at + 8
    if kind == _BINARY:
        start = _skip_varint(content, at)
        end = start + _read_varint(content, at)
        found.extend((Span(at, start, "varint"), Span(start, end, "text")))
        return end
    if kind in (_LIST, _SET):
        return _list(content, at, found, depth)
    if kind == _STRUCT:
        return _struct(content, at, found, depth)
    raise ValueError(kind)


def _list(content: bytes, at: int, found: list[Span], depth: int) -> int:
    size, kind = content[at] >> 4, content[at] & 15
    found.append(Span(at, at + 1, "size"))
    at += 1
    if size == 15:
        size, at = _read_varint(content, at), _skip_varint(content, at)
    for _ in range(size):
        at = at + 1 if kind in (_TRUE, _FALSE) else _value(content, at, kind, found, depth + 1)
    return at


def _skip_varint(content: bytes, at: int) -> int:
    while content[at] & 0x80:
        at += 1
    return at + 1


def _read_varint(content: bytes, at: int) -> int:
    value = shift = 0
    while content[at] & 0x80:
        value |= (content[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | content[at] << shift


def _place(content: bytes, dice: random.Random) -> int:
    return dice.randrange(len(content)) if content else 0


def _at(content: bytes, place: int) -> int:
    return content[place] if place < len(content) else 0


def _put(content: bytes, place: int, new: bytes) -> bytes:
    """Other bytes at a place; the file stays as long as it is."""
    return (content[:place] + new + content[place + len(new) :])[: len(content)]
