"""Thrift's compact protocol, as far as Parquet's page headers and footers need it. Strict: what is odd is damaged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BOOL, _FALSE, _BYTE, _I16, I32, I64, _DOUBLE, BINARY, LIST, _SET, _MAP, STRUCT = range(1, 13)
_DEEPEST = 8

Fields = Mapping[int, tuple[int, Any]]
"""The fields that are known: by number, their type and, of a struct or a list of structs, its own fields."""


class Damaged(Exception):
    """This cannot be what a writer wrote."""


def read_struct(buffer: bytes, at: int, known: Fields, depth: int = 0) -> tuple[dict[int, Any], int]:
    """The whole numbers, booleans and structs of the struct at *at*, by the numbers of the fields, and where it ends.

    Of lists only known ones of structs are read. A known field of another type is damage, and so are fields that do not
    stand in the order of their numbers. Fields that are not known may be anything: something newer. IndexError if the
    buffer ends first.
    """
    if depth > _DEEPEST:
        raise Damaged("its header is nested too deep")
    found: dict[int, Any] = {}
    number = 0
    while head := buffer[at]:
        at += 1
        kind = head & 15
        if head > 15:
            number += head >> 4
        else:
            number, at = _number_written_out(buffer, at, number)
        expected, inner = known.get(number) or (kind, {})
        if kind != expected and (kind, expected) != (_FALSE, BOOL):
            raise Damaged("its header holds a field of another type")
        if kind in (I32, BINARY):  # nearly all are; and nearly all take one byte, which is worth no call
            value = buffer[at]
            at += 1
            if value > 0x7F:
                value, at = _varint(buffer, at - 1)
            if kind == I32:
                found[number] = _signed(value)
            else:
                at += value
        elif kind == STRUCT:
            found[number], at = read_struct(buffer, at, inner, depth + 1)
        elif kind in (BOOL, _FALSE):
            found[number] = kind == BOOL
        elif kind == LIST and inner:
            found[number], at = _structs(buffer, at, inner, depth)
        else:
            at = _skip(buffer, at, kind, depth)
    return found, at + 1


def _number_written_out(buffer: bytes, at: int, before: int) -> tuple[int, int]:
    """The number of a field that is so much larger than the one before that four bits cannot say how much."""
    value, at = _varint(buffer, at)
    number = _signed(value)
    if number <= before + 15:
        raise Damaged("its header has its fields out of order")
    return number, at


def _signed(value: int) -> int:
    """A whole number of at most 32 bits."""
    if value >> 32:
        raise Damaged("its header holds a number that is too large")
    return (value >> 1) ^ -(value & 1)


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
    if depth > _DEEPEST:
        raise Damaged("its header is nested too deep")
    if kind in (BOOL, _FALSE):
        return at
    if kind == _BYTE:
        return at + 1
    if kind in (_I16, I32, I64):
        return _varint(buffer, at)[1]
    if kind == _DOUBLE:
        return at + 8
    if kind == BINARY:
        size, at = _varint(buffer, at)
        if at + size > len(buffer):
            raise IndexError
        return at + size
    if kind in (LIST, _SET):
        return _skip_list(buffer, at, depth)
    if kind == STRUCT:
        return read_struct(buffer, at, {}, depth + 1)[1]
    raise Damaged("its header holds something that is no field")


def _structs(buffer: bytes, at: int, known: Fields, depth: int) -> tuple[list[dict[int, Any]], int]:
    """The structs of the list at *at*, and where it ends."""
    size, kind, at = _list_head(buffer, at)
    if kind != STRUCT:
        raise Damaged("its header holds a list of another type")
    structs = []
    for _ in range(size):
        struct, at = read_struct(buffer, at, known, depth + 1)
        structs.append(struct)
    return structs, at


def _list_head(buffer: bytes, at: int) -> tuple[int, int, int]:
    """How many elements of which type a list has, and where they begin."""
    size, kind, at = buffer[at] >> 4, buffer[at] & 15, at + 1
    if size == 15:
        size, at = _varint(buffer, at)
    return size, kind, at


def _skip_list(buffer: bytes, at: int, depth: int) -> int:
    size, kind, at = _list_head(buffer, at)
    for _ in range(size):
        at = at + 1 if kind in (BOOL, _FALSE) else _skip(buffer, at, kind, depth + 1)
        if at > len(buffer):
            raise IndexError
    return at
