"""The contract of executors, held against every implementation: a new one is one more entry of IMPLEMENTATIONS."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from r2d2.app.child_tasks import child_program, reading_metadata
from r2d2.app.lake_tools import hashing_with, read_metadata
from r2d2.engine.rows.asked_edges import AskedEdges
from r2d2.engine.rows.compare_tables import comparing, summed
from r2d2.engine.rows.content import Content
from r2d2.engine.rows.hash_slices import Hashing, looking_up, sampling
from r2d2.engine.rows.table_content import TableContent
from r2d2.engine.run.child_process import ChildProcess, Program
from r2d2.engine.run.contract import Executor, NoAnswer, ReaderDied, Task
from r2d2.engine.run.inline import Inline
from r2d2.engine.run.little_first import LittleFirst
from r2d2.engine.run.spark import SparkExecutor
from r2d2.formats.registry import read_bytes
from r2d2.lake.fresh_python import environment
from r2d2.model.progress import News, Progress, silent, tick
from r2d2.model.schema import Column
from r2d2.model.table import DataFile, Table
from r2d2.model.versions import FileVersion
from r2d2.model.work import HashWork, LookUpWork, SampleWork
from tests.lake.killer import write_killer
from tests.support import deadly_child
from tests.support.deadly_child import read_or_die
from tests.support.pairs import by_pair, numbers

KEY = bytes(range(32))
X = Column(("x",), "int64")


def inline(request: pytest.FixtureRequest) -> Executor:
    return Inline()


def child_process(request: pytest.FixtureRequest) -> Executor:
    """The product's own, but for a reader that can be killed."""
    command = [sys.executable, "-P", deadly_child.__file__]
    return ChildProcess(lambda: Program(command, environment()))


def spark(request: pytest.FixtureRequest) -> Executor:
    session = request.getfixturevalue("spark")
    return SparkExecutor(lambda: session)


def little_first(request: pytest.FixtureRequest) -> Executor:
    """The one that chooses, where all is little."""
    return LittleFirst(child_process(request), Inline(), lambda items: True)


def little_last(request: pytest.FixtureRequest) -> Executor:
    """The same, where the child process gives no answer."""
    return LittleFirst(ChildProcess(lambda: Program(["/bin/false"], {})), Inline(), lambda items: True)


@dataclass(frozen=True)
class Implementation:
    make: Callable[[pytest.FixtureRequest], Executor]
    reads_elsewhere: bool = True  # a file that kills its reader does not kill this process
    takes_any_task: bool = True  # also such as cannot be made again from JSON


IMPLEMENTATIONS = [
    pytest.param(Implementation(inline, reads_elsewhere=False), id="inline"),
    pytest.param(Implementation(child_process, takes_any_task=False), id="child process"),
    pytest.param(Implementation(little_first, reads_elsewhere=False), id="little first", marks=pytest.mark.slow),
    pytest.param(Implementation(little_last, reads_elsewhere=False), id="no answer at hand", marks=pytest.mark.slow),
    pytest.param(Implementation(spark), id="spark", marks=pytest.mark.spark),
]
SAFE = [param for param in IMPLEMENTATIONS if param.values[0].reads_elsewhere]


@pytest.fixture(params=IMPLEMENTATIONS)
def executor(request: pytest.FixtureRequest) -> Executor:
    made: Executor = request.param.make(request)
    return made


@pytest.fixture(params=SAFE)
def elsewhere(request: pytest.FixtureRequest) -> Executor:
    made: Executor = request.param.make(request)
    return made


@pytest.fixture(params=[param for param in IMPLEMENTATIONS if param.values[0].takes_any_task])
def willing(request: pytest.FixtureRequest) -> Executor:
    made: Executor = request.param.make(request)
    return made


def hashing() -> Hashing:
    return Hashing(read_or_die, KEY, 128, hashing_with(KEY).range)


def write(path: Path, numbers: Sequence[int], group: int = 4) -> TableContent:
    """A table of one file and a slice for each row group."""
    pq.write_table(pa.table({"x": pa.array(numbers, pa.int64())}), path, row_group_size=group)
    parts: list[Any] = [
        {"format": "parquet", "path": str(path), "first": first, "rows": min(group, len(numbers) - first), "bytes": 10}
        | {"partition": [], "fold": False, "small": True}
        for first in range(0, len(numbers), group)
    ]
    return TableContent(tuple(parts), (X,), str(path), path.stem)


@pytest.fixture
def tables(tmp_path: Path) -> list[TableContent]:
    numbers = {"all": range(10), "some": range(3, 6), "other": [1, 1, 2, 50]}
    return [write(tmp_path / f"{name}.parquet", list(values)) for name, values in numbers.items()]


def sample_items(table: int, content: TableContent) -> list[SampleWork]:
    return [
        {"kind": "sample", "table": table, "slice": part, "tokens": [X.token], "places": list(range(part["rows"]))}
        for part in content.slices
    ]


def look_up_items(table: int, content: TableContent, rows: Sequence[Any]) -> list[LookUpWork]:
    return [
        {"kind": "look_up", "table": table, "slice": part, "wanted": [(0, [X.token], rows)]} for part in content.slices
    ]


def hash_items(tables: Mapping[int, TableContent]) -> list[HashWork]:
    return [
        {"kind": "hash", "table": table, "slice": part, "projections": [(0, [X.token], 3)]}
        for table, content in tables.items()
        for part in content.slices
    ]


def asked(*pairs: tuple[int, int]) -> AskedEdges:
    """Edges, ascending, over the one projection of `hash_items`."""
    parents, children = np.array(pairs, np.int32).T.copy()
    return AskedEdges(parents, children, np.array([0, len(pairs)]), [3])


def rows_of(answers: Sequence[Any]) -> set[str]:
    assert {answer["kind"] for answer in answers} <= {"sampled"}
    return {row[0] for answer in answers for row in answer["rows"]}


def test_rows_that_are_sampled_are_found_where_they_are(executor: Executor, tables: list[TableContent]) -> None:
    everything, some, other = tables
    sampled = executor.run(sampling(hashing()), sample_items(2, other))
    assert {answer["table"] for answer in sampled} == {2} and len(rows_of(sampled)) == 3
    rows = [row for answer in sampled for row in answer["rows"]]  # type: ignore[typeddict-item]
    items = [*look_up_items(0, everything, rows), *look_up_items(1, some, rows)]
    found: dict[int, set[str]] = {}
    for answer in executor.run(looking_up(hashing()), items):
        assert answer["kind"] == "found" and answer["projection"] == 0
        found.setdefault(answer["table"], set()).update(answer["found"])
    assert found[0] == rows_of(executor.run(sampling(hashing()), sample_items(0, everything))) & rows_of(sampled)
    assert len(found[0]) == 2 and not found.get(1)


def test_all_give_the_same_hashes(executor: Executor, tables: list[TableContent]) -> None:
    items = [item for number, content in enumerate(tables) for item in sample_items(number, content)]
    here = Inline().run(sampling(hashing()), items)
    assert Counter(map(repr, executor.run(sampling(hashing()), items))) == Counter(map(repr, here))


def test_tables_are_compared(executor: Executor, tables: list[TableContent]) -> None:
    edges = asked((0, 1), (0, 2), (1, 0), (2, 0))
    exchanged = executor.exchange(comparing(hashing(), edges), hash_items(dict(enumerate(tables))))
    counted = by_pair(summed(edges, exchanged.counts, tables=3), 3)
    assert counted == {(0, 1): (0, 0), (1, 0): (7, 7), (0, 2): (1, 2), (2, 0): (8, 8)}
    assert not exchanged.notes


def test_tables_of_the_same_bytes_are_recognised(executor: Executor, tmp_path: Path) -> None:
    rows = list(np.random.default_rng(1).integers(0, 2**60, 200_000))
    contents = [write(tmp_path / f"{name}.parquet", rows, 200_000) for name in "abcde"]
    flipped = bytearray((tmp_path / "d.parquet").read_bytes())
    flipped[1000] ^= 1
    (tmp_path / "d.parquet").write_bytes(flipped)
    parts = [{**content.slices[0], "bytes": os.path.getsize(content.location)} for content in contents]
    parts[4]["partition"] = [["day", "1", "int64"]]
    tables = [replace(content, slices=(part,)) for content, part in zip(contents, parts, strict=True)]
    content = Content(executor, tables, Hashing(read_or_die, KEY, 128, None, read_bytes), lambda parts: {})
    same = content.same_bytes([[0, 1, 2, 3, 4]])
    assert {table: first for table, first in same.items() if table != first} == {1: 0, 2: 0}
    assert content.bytes_read == 4 * parts[0]["bytes"]  # e has other folders: its bytes need not be read


def test_metadata_come_with_the_tables_that_have_none(executor: Executor, tmp_path: Path) -> None:
    write(tmp_path / "fine.parquet", range(7))
    write_killer(tmp_path / "killer.parquet")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1")
    found = read_metadata([table_at(path) for path in sorted(tmp_path.iterdir())], executor, timeout_seconds=30)
    assert {name: profile.rows for name, profile in found.merged.items()} == {"fine": 7}
    assert [problem.where for problem in found.problems] == ["cut", "killer"]
    assert "killed the reader" in found.problems[1].because


def table_at(path: Path) -> Table:
    file = DataFile(str(path), path.stat().st_size, 0, FileVersion(path.name, ""))
    return Table(path.stem, "parquet", str(path), (file,))


def test_a_table_that_cannot_be_read_costs_itself_only(executor: Executor, tables: list[TableContent]) -> None:
    Path(tables[1].slices[0]["path"]).write_bytes(b"PAR1 and no more")
    content = Content(executor, tables, hashing(), lambda parts: {})
    counted = content.compare(numbers([(0, 1), (0, 2), (2, 0)], 3))
    assert by_pair(counted, 3) == {(0, 2): (1, 2), (2, 0): (8, 8)}
    (problem,) = content.problems()
    assert problem.where == "some" and "cannot be read" in problem.because


def test_no_items_are_no_work(executor: Executor) -> None:
    assert executor.run(sampling(hashing()), []) == []
    exchanged = executor.exchange(comparing(hashing()), [])
    assert not exchanged.counts and not exchanged.notes


def test_a_killed_reader_is_told_and_the_executor_lives_on(elsewhere: Executor, tmp_path: Path) -> None:
    fine, deadly = write(tmp_path / "fine.parquet", range(5)), write(tmp_path / "deadly.parquet", range(5))
    with pytest.raises(ReaderDied) as died:
        elsewhere.run(sampling(hashing()), [*sample_items(0, fine), *sample_items(1, deadly)])
    assert isinstance(died.value.reason, Exception) and died.value.reason is died.value.__cause__
    with pytest.raises(ReaderDied):
        elsewhere.exchange(comparing(hashing(), asked((0, 1))), hash_items({0: fine, 1: deadly}))
    assert len(rows_of(elsewhere.run(sampling(hashing()), sample_items(0, fine)))) == 5


def test_content_outlives_a_killed_reader(elsewhere: Executor, tmp_path: Path) -> None:
    contents = [write(tmp_path / f"{name}.parquet", range(5)) for name in ("fine", "deadly", "same")]

    def find_deadly(parts: Sequence[Mapping[str, Any]]) -> dict[int, str]:
        return {place: "killed" for place, part in enumerate(parts) if "deadly" in part["path"]}

    content = Content(elsewhere, contents, hashing(), find_deadly)
    counted = content.compare(numbers([(0, 1), (0, 2)], 3))
    assert by_pair(counted, 3) == {(0, 2): (0, 0)}
    assert [(problem.where, problem.because) for problem in content.problems()] == [("deadly", "killed")]
    nobody = Content(elsewhere, contents, hashing(), lambda parts: {})
    with pytest.raises(Exception) as raised:
        nobody.compare(numbers([(0, 1)], 3))
    assert not isinstance(raised.value, NoAnswer)


def test_progress_grows_to_the_whole_and_no_further(executor: Executor, tables: list[TableContent]) -> None:
    items = [item for number, content in enumerate(tables) for item in sample_items(number, content)]
    told: list[tuple[int, int]] = []

    def tell(news: News) -> None:
        assert news.unit == "bytes"
        told.append((news.pieces, news.done))

    executor.run(sampling(hashing()), items, tell)
    assert told and told == sorted(told)
    assert told[-1][0] <= len(items) and told[-1][1] <= 10 * len(items)
    told.clear()
    executor.exchange(comparing(hashing(), asked((0, 1))), hash_items(dict(enumerate(tables))), tell)
    assert told and told == sorted(told) and told[-1][0] <= len(items)


def echo(bundle: Sequence[Any]) -> Iterator[Any]:
    for item in bundle:
        tick(1)
        yield {"kind": "echo", "said": item["say"], "many": len(bundle)}


def test_any_function_is_a_task_and_what_it_says_goes_through_json(willing: Executor) -> None:
    task: Task[Any, Any] = Task("echo", echo, lambda item: 1.0, 10)
    said = [None, 1.5, "ü \0 \udcff", [1, [2]], {"a": {}}, 2**70]
    answers = willing.run(task, [{"kind": "echo", "say": one} for one in said])
    assert Counter(repr(answer["said"]) for answer in answers) == Counter(map(repr, said))


def fail(bundle: Sequence[Any], because: str) -> Iterator[Any]:
    raise ArithmeticError(because)


def test_a_bug_in_a_task_is_no_death_of_a_reader(willing: Executor) -> None:
    task: Task[Any, Any] = Task("fail", partial(fail, because="a bug"), lambda item: 1.0, 10)
    with pytest.raises(Exception, match="a bug") as raised:
        willing.run(task, [{"kind": "fail"}])
    assert not isinstance(raised.value, ReaderDied)


# ---- the child process -----------------------------------------------------------------------------------------------


def test_a_child_process_does_only_tasks_that_it_can_make_again() -> None:
    task: Task[Any, Any] = Task("echo", echo, lambda item: 1.0, 10)
    with pytest.raises(NoAnswer, match="cannot echo"):
        ChildProcess(child_program).run(task, [{"kind": "echo", "say": 1}])
    unknown: Task[Any, Any] = Task("echo", echo, lambda item: 1.0, 10, given={})
    with pytest.raises(NoAnswer):
        ChildProcess(child_program).run(unknown, [{"kind": "echo", "say": 1}])


@pytest.mark.slow
def test_a_child_process_is_not_waited_for_without_end(tmp_path: Path) -> None:
    endless = write(tmp_path / "endless.parquet", range(3))
    command = [sys.executable, "-P", deadly_child.__file__]
    waiting = ChildProcess(lambda: Program(command, environment()), seconds=3)
    with pytest.raises(NoAnswer) as raised:
        waiting.run(sampling(hashing()), sample_items(0, endless))
    assert not isinstance(raised.value, ReaderDied)


@pytest.mark.parametrize("command", [["/nowhere"], ["/bin/true"], ["/bin/echo", "no JSON"]])
def test_where_there_is_no_process_or_no_sense_in_it_there_is_no_answer(command: list[str]) -> None:
    with pytest.raises(NoAnswer):
        ChildProcess(lambda: Program(command, {})).run(reading_metadata(1.0), [metadata_of("x")])


def metadata_of(path: str) -> Any:
    return {"kind": "metadata", "table": 0, "format": "parquet", "paths": [path]}


# ---- the one that chooses --------------------------------------------------------------------------------------------


class Noting(Inline):
    """Notes how many items it was given."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.given: list[int] = []
        self._refuses = refuses

    def run(self, task: Any, items: Sequence[Any], progress: Progress = silent) -> list[Any]:
        self.given.append(len(items))
        if self._refuses:
            raise NoAnswer
        return super().run(task, items, progress)


@pytest.mark.parametrize("refuses", [True, False])
def test_little_work_is_done_at_hand_and_much_or_unanswered_work_otherwise(refuses: bool) -> None:
    at_hand, otherwise = Noting(refuses=refuses), Noting()
    chooser = LittleFirst(at_hand, otherwise, lambda items: len(items) <= 2)
    task: Task[Any, Any] = Task("echo", echo, lambda item: 1.0, 10)
    for count in (1, 2, 3):
        answers = chooser.run(task, [{"kind": "echo", "say": number} for number in range(count)])
        assert [answer["said"] for answer in answers] == list(range(count))
    assert (at_hand.given, otherwise.given) == ([1, 2], [1, 2, 3] if refuses else [3])
