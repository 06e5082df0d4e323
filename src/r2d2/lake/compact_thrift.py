"""Thrift's compact protocol, as far as the headers of Parquet's pages need it. Strict: what is odd is damaged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TRUE, _FALSE, _BYTE, _I16, I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, STRUCT = range(1, 13)
_DEEPEST = 8

Fields = Mapping[int, tuple[int, Any]]
"""The fields that are wanted: by number, their type and, of a struct, its own fields."""


class Damaged(Exception):
    """This cannot be what a writer wrote."""


def read_struct(buffer: bytes, at: int, wanted: Fields, depth: int = 0) -> tuple[dict[int, Any], int]:
    """The wanted fields of the struct at *at* that have the type they should, and where it ends.

    IndexError if the buffer ends first.
    """
    if depth > _DEEPEST:
        raise Damaged("its header is nested too deep")
    found: dict[int, Any] = {}
    number = 0
    while True:
        head = buffer[at]
        at += 1
        if head == 0:
            return found, at
        kind = head & 15
        if head >> 4:
            number += head >> 4
        else:
            number, at = _integer(buffer, at)
        expected, inner = wanted.get(number, (0, None))
        if kind != expected:
            at = _skip(buffer, at, kind, depth)
        elif kind == STRUCT:
            found[number], at = read_struct(buffer, at, inner, depth + 1)
        else:
            found[number], at = _integer(buffer, at)


def _integer(buffer: bytes, at: int) -> tuple[int, int]:
    """A whole number of at most 32 bits."""
    value, at = _varint(buffer, at)
    if value >> 32:
        raise Damaged("its header holds a number that is too large")
    return (value >> 1) ^ -(value & 1), at


def _varint(buffer: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = buffer[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise Damaged("its header holds a number that does not end")


def _skip(buffer: bytes, at: int, kind: int, depth: int) -> int:
    if kind in (_TRUE, _FALSE):
        return at
    if kind == _BYTE:
        return at + 1
    if kind in (_I16, I32, _I64):
        return _varint(buffer, at)[1]
    if kind == _DOUBLE:
        return at + 8
    if kind == _BINARY:
        size, at = _varint(buffer, at)
        if at + size > len(buffer):
            raise IndexError
        return at + size
    if kind in (_LIST, _SET):
        return _skip_list(buffer, at, depth)
    if kind == STRUCT:
        return read_struct(buffer, at, {}, depth + 1)[1]
    raise Damaged("its header holds something that is no field")


def _skip_list(buffer: bytes, at: int, depth: int) -> int:
    size, kind = buffer[at] >> 4, buffer[at] & 15
    at += 1
    if size == 15:
        size, at = _varint(buffer, at)
    for _ in range(size):
        at = at + 1 if kind in (_TRUE, _FALSE) else _skip(buffer, at, kind, depth + 1)
        if at > len(buffer):
            raise IndexError
    return at
