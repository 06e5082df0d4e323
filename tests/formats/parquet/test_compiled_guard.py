"""The compiled guard believes a chunk only where the strict one does, whatever is done to the bytes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.formats.parquet import page_guard
from r2d2.formats.parquet.page_guard import _check_chunk, _File, _is_ordinary
from r2d2.formats.parquet.thrift import Damaged
from tests.support.mutate_parquet import pages_of

CODECS = ("none", "snappy", "gzip", "zstd", "lz4")


@pytest.fixture(autouse=True, scope="module")
def compiled() -> Iterator[None]:
    before = page_guard.LOOPS.compiled
    page_guard.LOOPS.load()
    assert page_guard.LOOPS.compiled, "Numba is installed where tests run"
    yield
    page_guard.LOOPS.compiled = before


def write(
    path: Path, codec: str, *, rows: int, pages: str = "1.0", dictionary: bool = True, nulls: bool = False
) -> None:
    numbers = np.random.default_rng(rows).integers(0, rows, rows)
    mask = numbers % 5 == 0 if nulls else None
    table = pa.table(
        {
            "n": pa.array(numbers, mask=mask),
            "s": pa.array([f"text {n}" for n in numbers], mask=mask),
            "d": pa.array(numbers / 7, mask=mask),
            "b": pa.array(numbers % 2 == 0, mask=mask),
            "required": numbers.astype(np.int32),
        }
    )
    fields = [field.with_nullable(field.name != "required") for field in table.schema]
    pq.write_table(
        table.cast(pa.schema(fields)),
        path,
        compression=codec,
        data_page_version=pages,
        use_dictionary=dictionary,
        data_page_size=700,
        row_group_size=max(1, rows // 2),
    )


def both(path: Path) -> list[tuple[bool, bool]]:
    """For each chunk the words of the compiled and of the strict form."""
    metadata = pq.ParquetFile(path)
    answers = []
    with path.open("rb") as file:
        for group in range(metadata.metadata.num_row_groups):
            for leaf in range(metadata.metadata.num_columns):
                chunk, schema = metadata.metadata.row_group(group).column(leaf), metadata.schema.column(leaf)
                fast = _is_ordinary(_File(file.fileno()), chunk, schema)
                answers.append((fast, _strictly(_File(file.fileno()), chunk, schema)))
    return answers


def _strictly(file: _File, chunk: pq.ColumnChunkMetaData, schema: pq.ColumnSchema) -> bool:
    try:
        return _check_chunk(file, chunk, schema)
    except Damaged:
        return False


@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd"])
def test_ordinary_chunks_are_settled_by_the_compiled_form(tmp_path: Path, codec: str, dictionary: bool) -> None:
    write(tmp_path / "t.parquet", codec, rows=3_000, dictionary=dictionary)
    assert both(tmp_path / "t.parquet") == [(True, True)] * 10


def test_nulls_checksums_and_the_second_kind_of_page_are_left_to_the_strict_form(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write(path, "snappy", rows=300, nulls=True)
    assert [fast for fast, _ in both(path)[:4]] == [False] * 4
    write(path, "snappy", rows=300, pages="2.0")
    assert not any(fast for fast, _ in both(path))
    pq.write_table(pa.table({"n": range(300)}), path, write_page_checksum=True)
    assert both(path) == [(False, True)]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(CODECS), st.sampled_from(["1.0", "2.0"]), st.booleans(), st.booleans())
def test_whatever_the_compiled_form_believes_the_strict_form_believes(
    tmp_path_factory: pytest.TempPathFactory, seed: int, codec: str, pages: str, dictionary: bool, nulls: bool
) -> None:
    rng = random.Random(seed)
    path = tmp_path_factory.mktemp("guard") / "t.parquet"
    write(path, codec, rows=rng.choice([1, 2, 30, 400]), pages=pages, dictionary=dictionary, nulls=nulls)
    content = bytearray(path.read_bytes())
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    headers = [at for at in pages_of(bytes(content)) if at < footer]
    for _ in range(rng.randint(1, 4)):
        place = min(footer - 1, rng.choice(headers) + rng.randrange(60))
        content[place] = rng.choice(
            [0, 1, 0x15, 0x2C, 0xFF, content[place] ^ 1 << rng.randrange(8), rng.randrange(256)]
        )
    path.write_bytes(content)
    assert all(strict for fast, strict in both(path) if fast)
