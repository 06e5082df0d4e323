"""Hashes are kept in the state and met again by other machines and library versions: they may never drift.

If a test here fails, either undo the change or raise HASH_VERSION and write the new values down.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from decimal import Decimal

import pyarrow as pa
import pytest

from r2d2.engine.kernels import HASH_VERSION, block_of, fingerprint, hash_column, hash_rows, to_bytes
from r2d2.synthetic.oracle.truth_rows import flatten

KEY = bytes(range(16))
UTC = dt.UTC

GOLDEN: list[tuple[object, pa.DataType, str]] = [
    (None, pa.int64(), "50bce4d5aa8e8551ca65c14ff195051d"),
    (True, pa.bool_(), "ba24a1814f52da0b487d6d1534db35fb"),
    (0, pa.int64(), "72a5cf89c1c40a462b2bcff339ea2ebb"),
    (-1, pa.int8(), "4c398250b8b775745dcfa9a7ee43fe3d"),
    (2**63, pa.uint64(), "1ed46dbd7fb1629405072ccace5ba699"),
    (2**64 - 1, pa.uint64(), "6af75dca85a68c17caa1af9bce5c9b7d"),
    (0.1, pa.float64(), "d48f094fbe6651acdb489480debb4e4f"),
    (-0.0, pa.float64(), "a948a86c0ac5f227829833e0f0cde4fc"),
    (float("nan"), pa.float32(), "ba15db02a793c1aab83735e0df1de591"),
    (Decimal("0.10"), pa.decimal128(5, 2), "0f639454c55716e1f57f3cf42b9a1942"),
    (Decimal("12345678901234567890.123"), pa.decimal128(38, 3), "bafdae9197d41b5fb595f6d77fe2f3fa"),
    (Decimal("1e60"), pa.decimal256(76, 0), "94ae22e26475e416c4ed31abc050798d"),
    ("", pa.string(), "5dc3cc08867aa42fb2384b2199040c9f"),
    ("twelve bytes", pa.string(), "e450ae504d3697ad605654b2a8382ebe"),
    ("a little more than twelve bytes", pa.string_view(), "7e6320abbf7964bf45452e76830522ad"),
    (b"\x00", pa.binary(), "b4406363bfb101882d6d494ed9070116"),
    (bytes(range(200)), pa.binary(), "2fcbd22a6a9382ee3cf698e7473e8677"),
    (dt.date(2024, 2, 29), pa.date32(), "344916a8fbafc4c5d58d43a9dd66ade0"),
    (dt.time(12, 34, 56, 789), pa.time64("us"), "2fc82d9789347ec432f37a17d7b17bf0"),
    (dt.datetime(2024, 2, 29, 12, 0, 0, 1), pa.timestamp("us"), "0c8d9dd182a395cb74d45de1a51b2e68"),
    (dt.datetime(2024, 2, 29, 12, tzinfo=UTC), pa.timestamp("ms", "UTC"), "8984cd3bd807fa6dba4675a7e372f9ee"),
    (dt.timedelta(seconds=1), pa.duration("s"), "af19f845373667a881f582a66a17ae1f"),
    ([1, None, 3], pa.list_(pa.int8()), "022b6480dfca41500d890b1cb61ca9a4"),
    ([("a", 1), ("b", None)], pa.map_(pa.string(), pa.int8()), "075189c15fde17d445c93aec1d396115"),
    (
        [{"x": 1, "y": "z"}, None],
        pa.list_(pa.struct([("x", pa.int8()), ("y", pa.string())])),
        "6c7bc8c587690cfd2209588477c1028b",
    ),
]


def in_hex(hashes: object) -> str:
    return "".join(f"{int(half):016x}" for half in hashes)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("value", "kind", "golden"),
    GOLDEN,
    ids=lambda part: None if isinstance(part, str) and len(part) == 32 else str(part)[:40],
)
def test_a_value_hashes_to_what_it_always_did(value: object, kind: pa.DataType, golden: str) -> None:
    assert in_hex(hash_column(pa.array([value], kind), token=("a", "b"), key=KEY)[:, 0]) == golden


def test_rows_and_blocks_are_what_they_always_were() -> None:
    table = pa.table({"n": pa.array([1, 2, 2, None]), "s": pa.array(["a", "b", "b", "a string of some length"])})
    projections = [[("n",), ("s",)], [("s",)]]
    both, text = hash_rows(flatten(table), projections=projections, key=bytes(range(32)))
    assert [in_hex(row) for row in both.T] == [
        "9c83d299427a5bcb10404a7d71acb281",
        "3a49977cef2dfa422574454620b4c1b6",
        "3a49977cef2dfa422574454620b4c1b6",
        "b3539de47e1d7f3b783b0fa00a8a87cd",
    ]
    block = block_of(text)
    assert str(fingerprint(block.hashes, block.counts)) == "4:c15c8c8e6ec69477d15b110bbcd9fc7c"
    assert (
        hashlib.sha256(to_bytes(block)).hexdigest()
        == "4d7686581406cddeae5b49e7823d45b338fbc1613ce872030abce8c3d397cd3c"
    )
    assert HASH_VERSION == 1
