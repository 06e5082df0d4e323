"""A block comes out of the exchange as it went in, by file or through the shuffle, and nothing is left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.engine.run.contract import NOTE, Block
from r2d2.engine.run.exchange import Receiver, exchange_folder, send

PIECES = st.lists(st.binary(max_size=40), max_size=3).map(lambda pieces: [b"R2HB", *pieces])
blocks = st.lists(st.tuples(st.integers(NOTE, 5), st.integers(0, 3), st.integers(0, 9), PIECES))


@given(blocks)
@pytest.mark.parametrize("by_file", [True, False])
def test_what_is_sent_is_received(tmp_path_factory: pytest.TempPathFactory, by_file: bool, sent: list[Block]) -> None:
    folder = str(tmp_path_factory.mktemp("blocks")) if by_file else ""
    on_the_way = list(send(iter(sent), folder=folder))
    assert [parcel[:3] for parcel in on_the_way] == [block[:3] for block in sent]
    with closing(Receiver()) as receiver:
        arrived = pa.array([parcel[3] for parcel in on_the_way], pa.binary())
        there = [receiver.block(memoryview(parcel.as_buffer())) for parcel in arrived]
        assert [(block.size, bytes(block.all())) for block in there] == [
            (len(b"".join(block[3])), b"".join(block[3])) for block in sent
        ]
        for block in there:
            first, second = bytearray(2), bytearray(block.size - 3)
            block.fill(1, [memoryview(first), memoryview(second)])
            assert bytes(first + second) == bytes(block.all())[1:]


def test_a_file_that_was_cut_short_is_an_error(tmp_path: Path) -> None:
    ((*_, place),) = send([(0, 0, 0, [b"R2HBblock"])], folder=str(tmp_path))
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"R2HB")
    with closing(Receiver()) as receiver:
        block = receiver.block(memoryview(place))
        with pytest.raises(OSError, match="ends within a block of 9 bytes"):
            block.fill(0, [memoryview(bytearray(9))])


def test_pieces_may_be_written_over_as_soon_as_the_next_block_is_asked_for(tmp_path: Path) -> None:
    memory = bytearray(8)

    def blocks() -> Iterator[Block]:
        for number in range(3):
            memory[:] = b"R2HB" + bytes([number] * 4)
            yield 0, number, 0, [memoryview(memory)]

    for folder in ("", str(tmp_path)):
        with closing(Receiver()) as receiver:
            there = [receiver.block(memoryview(parcel[3])) for parcel in send(blocks(), folder=folder)]
            assert [bytes(block.all())[4:] for block in there] == [bytes([number] * 4) for number in range(3)]


def test_by_file_only_places_and_notes_go_through_the_shuffle(tmp_path: Path) -> None:
    sent: list[Block] = [(0, 0, 0, [b"R2HB", bytes(1_000_000)]), (NOTE, 0, 0, [b"{}"])]
    place, note = send(sent, folder=str(tmp_path))
    assert len(place[3]) < 1_000
    assert note[3] == b"{}"


def test_a_task_that_is_run_again_does_not_touch_what_the_first_try_wrote(tmp_path: Path) -> None:
    (first,) = send([(0, 0, 0, [b"R2HBfirst"])], folder=str(tmp_path))
    (other,) = send([(0, 0, 0, [b"R2HBother"])], folder=str(tmp_path))
    with closing(Receiver()) as receiver:
        there = [bytes(receiver.block(memoryview(parcel[3])).all()) for parcel in (first, other)]
    assert there == [b"R2HBfirst", b"R2HBother"]


def test_the_folder_goes_with_the_job(spark: Any) -> None:
    with exchange_folder(spark) as folder:
        assert os.path.isdir(folder)
        (Path(folder) / "left").write_bytes(b"x")
    assert not os.path.exists(folder)


class Cluster:
    """As much of a session as the question takes: where it runs."""

    class conf:
        @staticmethod
        def get(name: str, default: str | None = None) -> str | None:
            return "spark://host:7077" if name == "spark.master" else default


def test_on_several_machines_blocks_go_through_the_shuffle() -> None:
    with exchange_folder(Cluster()) as folder:  # type: ignore[arg-type]
        assert folder == ""
