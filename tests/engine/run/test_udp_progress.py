"""Running tasks say how far they are; whatever becomes of that, their work is the same."""

from __future__ import annotations

import gc
import json
import socket
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from r2d2.app.scan import scan_lake
from r2d2.app.workspace import Workspace
from r2d2.engine.run import udp_progress as beacon
from r2d2.engine.run.spark import run_tasks
from r2d2.engine.run.udp_progress import Address, listen, reporting
from r2d2.model.progress import News, silent, summing, tick
from r2d2.report.edges import standing_edges
from r2d2.settings import Settings
from r2d2.synthetic import generate_lake

LOCAL: Any = SimpleNamespace(conf=SimpleNamespace(get=lambda name, default=None: "local[2]"))


class Heard:
    """What was reported, and a way to wait for it: datagrams take their time."""

    def __init__(self, awaited: News) -> None:
        self.all: list[News] = []
        self._awaited = awaited
        self._there = threading.Event()

    def __call__(self, done: News) -> None:
        self.all.append(done)
        if done == self._awaited:
            self._there.set()

    def wait(self) -> bool:
        return self._there.wait(10)


def read(pieces: int, size: int) -> News:
    return News(done=size, unit="bytes", pieces=pieces)


def bundles(*numbers: int) -> list[pa.RecordBatch]:
    return [pa.record_batch({"bundle": pa.array(numbers, pa.int32()), "work": [json.dumps([n]) for n in numbers]})]


def three_ticks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for _ in range(batch.num_rows):
            for size in (1, 10, 100):
                tick(size)
        yield batch


def test_what_tasks_tick_is_summed_over_bundles_and_a_repeated_task_counts_once() -> None:
    heard = Heard(read(9, 333))
    with listen(LOCAL, heard) as address:
        task = reporting(three_ticks, address)
        assert pa.Table.from_batches(task(bundles(0, 1))).column("bundle").to_pylist() == [0, 1]
        list(task(bundles(1)))  # Spark repeats a task, and deals the bundles out anew
        list(task(bundles(2, 0)))
        assert heard.wait()
    told = [(news.pieces, news.done) for news in heard.all]
    assert told == sorted(told)


def test_a_long_task_is_heard_of_before_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beacon, "SECONDS_BETWEEN", 0.0)
    heard = Heard(read(1, 1))
    with listen(LOCAL, heard) as address:
        went_on = iter(reporting(_tick_and_wait(heard), address)(bundles(0)))
        assert next(went_on).num_rows == 1


def _tick_and_wait(heard: Heard) -> Any:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            tick(1)
            assert heard.wait(), "it was told while the task runs"
            yield batch

    return run


def test_a_task_that_failed_does_not_hush_the_next_when_it_is_forgotten() -> None:
    def fail(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield next(iter(batches))
        raise ArithmeticError("a bug")

    with pytest.raises(ArithmeticError) as kept:
        list(reporting(fail, Address("127.0.0.1", 9, bytes(16)))(bundles(0)))
    told: list[News] = []
    with summing(told.append):
        del kept
        gc.collect()
        tick(10)
    assert told == [read(1, 10)]


def test_messages_of_others_are_not_counted() -> None:
    heard = Heard(read(3, 111))
    with listen(LOCAL, heard) as address, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        assert address is not None and address.host == "127.0.0.1"
        for message in (b"", b"x", bytes(32), bytes(33), bytes(1000), b"\xff" * 32):
            stranger.sendto(message, (address.host, address.port))
        list(reporting(three_ticks, address)(bundles(5)))
        assert heard.wait()
    assert set(heard.all) == {read(3, 111)}


@pytest.mark.parametrize("host", ["127.0.0.1", "no.such.host.invalid"])
def test_a_task_that_nobody_hears_does_its_work(host: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    answers = list(reporting(three_ticks, Address(host, port, bytes(16)))(bundles(0, 1)))
    assert [batch.num_rows for batch in answers] == [1, 1]


def test_where_nobody_asks_nothing_listens_and_the_task_is_as_it_was() -> None:
    with listen(LOCAL, silent) as address:
        assert address is None
    assert reporting(three_ticks, None) is three_ticks


def test_an_address_that_is_not_ours_means_no_progress() -> None:
    elsewhere: Any = SimpleNamespace(
        conf=SimpleNamespace(get=lambda name, default=None: {"spark.driver.host": "no.such.host.invalid"}.get(name, ""))
    )
    with listen(elsewhere, Heard(read(0, 0))) as address:
        assert address is None


def _each(bundle: list[int]) -> Iterator[str]:
    for piece in bundle:
        tick(piece)
        yield str(piece)


def test_through_spark(spark: Any) -> None:
    pieces = list(range(1, 101))
    heard = Heard(read(100, 5050))
    with listen(spark, heard) as address:
        answers = run_tasks(spark, pieces, task=_each, weight=float, per_task=500, report_to=address)
        assert heard.wait()
    assert sorted(map(int, answers)) == pieces


def test_a_scan_tells_files_bytes_and_edges_and_finds_the_same(spark: Any, tmp_path: Path) -> None:
    lake = generate_lake(tmp_path / "made", tables=20, rows=500, seed=3)
    told: list[News] = []
    watched = scan_lake(
        Workspace(Settings(state=str(tmp_path / "a")), spark=spark, progress=told.append), [str(lake.path)]
    )
    unwatched = scan_lake(Workspace(Settings(state=str(tmp_path / "b")), spark=spark), [str(lake.path)])
    a, b = ([replace(row, since="") for row in standing_edges(found)] for found in (watched, unwatched))
    assert a == b
    assert "files" in {news.unit for news in told if news.step == "profile"}
    compared = [news for news in told if news.step == "verify_containment" and news.unit]
    assert all(news.done <= (news.total or 0) for news in compared)
    assert any(news.done > 0 and "files" in news.detail and "edges decided" in news.detail for news in compared)
