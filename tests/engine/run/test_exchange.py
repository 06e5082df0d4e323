"""A block comes out of the exchange as it went in, by file or through the shuffle, and nothing is left behind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.engine.run.contract import NOTE, Block
from r2d2.engine.run.exchange import exchange_folder, receive, send

blocks = st.lists(
    st.tuples(st.integers(NOTE, 5), st.integers(0, 3), st.integers(0, 9), st.binary(max_size=40).map(b"R2HB".__add__))
)


@given(blocks)
@pytest.mark.parametrize("by_file", [True, False])
def test_what_is_sent_is_received(tmp_path_factory: pytest.TempPathFactory, by_file: bool, sent: list[Block]) -> None:
    folder = str(tmp_path_factory.mktemp("blocks")) if by_file else ""
    on_the_way = list(send(iter(sent), folder=folder))
    assert [parcel[:3] for parcel in on_the_way] == [block[:3] for block in sent]
    assert [bytes(receive(memoryview(parcel[3]))) for parcel in on_the_way] == [block[3] for block in sent]


def test_by_file_only_places_and_notes_go_through_the_shuffle(tmp_path: Path) -> None:
    sent: list[Block] = [(0, 0, 0, b"R2HB" + bytes(1_000_000)), (NOTE, 0, 0, b"{}")]
    place, note = send(sent, folder=str(tmp_path))
    assert len(place[3]) < 1_000
    assert note == sent[1]


def test_a_task_that_is_run_again_does_not_touch_what_the_first_try_wrote(tmp_path: Path) -> None:
    first = next(iter(send([(0, 0, 0, b"R2HBfirst")], folder=str(tmp_path))))
    list(send([(0, 0, 0, b"R2HBother")], folder=str(tmp_path)))
    assert first[3] != b"" and len(os.listdir(tmp_path)) == 2


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
