"""The first bytes of a compressed page are those that a library decompresses."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.formats.parquet.page_start import page_start

CODECS = ("SNAPPY", "ZSTD", "GZIP", "UNCOMPRESSED")
# Pieces that repeat, so that there is something to copy from near and from far.
CONTENT = st.lists(st.sampled_from([b"a", b"abc", bytes(9), b"\x03\x00\x00\x00", bytes(range(70)), b"xyz" * 30])).map(
    b"".join
)


def compressed(content: bytes, codec: str) -> bytes:
    return content if codec == "UNCOMPRESSED" else pa.compress(content, codec.lower(), asbytes=True)


@pytest.mark.parametrize("codec", CODECS)
@given(content=CONTENT, wanted=st.integers(1, 200))
def test_the_start_of_a_page_is_what_it_decompresses_to(codec: str, content: bytes, wanted: int) -> None:
    found = page_start(compressed(content, codec), codec, wanted)
    assert found == content[:wanted] or (found is None and len(content) < wanted)


@pytest.mark.parametrize("codec", CODECS)
def test_a_page_that_is_cut_off_still_has_a_start(codec: str) -> None:
    content = bytes(range(256)) * 4096
    assert page_start(compressed(content, codec)[: (1 << 17) + 64], codec, 10) == content[:10]


@pytest.mark.parametrize("codec", [*CODECS, "LZ4", "BROTLI", "nonsense"])
@given(content=st.binary(max_size=60))
def test_of_nonsense_nothing_is_known_or_something_short(codec: str, content: bytes) -> None:
    found = page_start(content, codec, 10)
    assert found is None or len(found) <= 10


def test_a_copy_of_what_is_not_there_is_nothing() -> None:
    assert page_start(bytes([10, 0b00000_001, 200]), "SNAPPY", 4) is None
    assert page_start(b"\xff\xff\xff\xff\xff\xff", "SNAPPY", 4) is None
