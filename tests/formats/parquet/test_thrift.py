"""Headers are read as writers write them; everything else is damaged, and nothing takes long or deep."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.formats.parquet.thrift import BINARY, BOOL, I32, I64, LIST, STRUCT, Damaged, Fields, read_struct

KNOWN: Fields = {1: (I32, None), 2: (BOOL, None), 3: (STRUCT, {1: (I64, None), 5: (BINARY, None), 6: (I32, None)})}


def field(delta: int, kind: int, value: bytes = b"") -> bytes:
    return bytes([delta << 4 | kind]) + value


def test_numbers_booleans_and_structs_are_read_and_the_rest_is_passed_over() -> None:
    inner = field(1, I64, b"\x80\x80\x01") + field(4, BINARY, b"\x03abc") + field(1, I32, b"\x03") + b"\0"
    whole = field(1, I32, b"\x96\x01") + field(1, 2) + field(1, STRUCT, inner) + field(9, I32, b"\x02") + b"\0"
    assert read_struct(whole + b"more", 0, KNOWN) == ({1: 75, 2: False, 3: {6: -2}, 12: 1}, len(whole))


def test_known_lists_of_structs_are_read() -> None:
    structs = b"".join(field(1, I32, bytes([2 * number])) + b"\0" for number in range(20))
    known: Fields = {2: (LIST, {1: (I32, None)})}
    for count, head in ((20, b"\xfc\x14"), (3, b"\x3c")):
        whole = field(2, LIST, head + structs[: count * 3]) + b"\0"
        assert read_struct(whole, 0, known) == ({2: [{1: number} for number in range(count)]}, len(whole))
    with pytest.raises(Damaged, match="list of another type"):
        read_struct(field(2, LIST, b"\x15\x02") + b"\0", 0, known)
    with pytest.raises(IndexError):
        read_struct(field(2, LIST, b"\xfc\xff\xff\xff\x7f" + structs), 0, known)


def test_a_number_that_four_bits_cannot_say_is_written_out() -> None:
    assert read_struct(bytes([I32, 40, 2, 0]), 0, KNOWN) == ({20: 1}, 4)
    with pytest.raises(Damaged, match="order"):
        read_struct(bytes([I32, 2, 2, 0]), 0, KNOWN)  # one could have been said with four


@pytest.mark.parametrize(
    "header", [field(1, I64, b"\x01"), field(2, I32, b"\x01"), field(3, BINARY, b"\0"), field(1, 2)], ids=repr
)
def test_a_known_field_of_another_type_is_damaged(header: bytes) -> None:
    with pytest.raises(Damaged, match="another type"):
        read_struct(header + b"\0", 0, KNOWN)


@pytest.mark.parametrize("nested", [b"\x99" * 5000, b"\x9c" * 5000, b"\x19" * 5000, b"\x3c" + b"\x9c" * 5000])
def test_what_is_nested_for_ever_is_damaged(nested: bytes) -> None:
    """List in list, struct in list, list in list of one, struct in struct."""
    with pytest.raises((Damaged, IndexError)):
        read_struct(field(9, 9) + nested, 0, KNOWN)


@given(st.binary(max_size=80))
def test_whatever_it_is_it_is_a_struct_or_damaged_or_cut_off(content: bytes) -> None:
    try:
        _, end = read_struct(content, 0, KNOWN)
    except (Damaged, IndexError):
        return
    assert 0 < end <= len(content)
