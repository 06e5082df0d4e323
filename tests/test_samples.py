"""What a sample is drawn from and what is said of it: every row alike, the columns that were compared, (ε, δ)."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from r2d2.app.lake_tools import lake_content
from r2d2.engine.rows.content import Content
from r2d2.engine.run.inline import Inline
from r2d2.formats.parquet import read as slicing
from r2d2.model.evidence import Verdict
from r2d2.model.progress import Progress, silent
from r2d2.model.scan import Scan
from r2d2.model.table import Absent
from r2d2.pipeline import update
from r2d2.report.evidence import compared_columns
from r2d2.report.explain import Explanation, explain
from r2d2.settings import Settings
from r2d2.steps import prune_by_content as step
from r2d2.steps.prune_by_content import Probe, rows_to_sample
from tests.support.in_process import HASHING, Reader

OLD_NS = 1_600_000_000_123_456_789
WIDTH = 8
GAPS = [n for n in range(2_000) if n % 5 or not n]  # within its range, a fifth of the numbers is missing


def write(path: Path, numbers: Iterable[int], *, last: int = 0, width: int = WIDTH, **more: Sequence[Any]) -> None:
    """A table of wide rows; its column `z` is the least selective, and differs in tables of another *last*."""
    listed = list(numbers)
    columns: dict[str, Sequence[Any]] = {f"c{place}": [n * (place + 3) for n in listed] for place in range(width - 1)}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns | {"z": [(n + last) % 2 for n in listed]} | more), path)
    os.utime(path, ns=(OLD_NS, OLD_NS))


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    write(tmp_path / "lake" / "all.parquet", range(2_000))
    write(tmp_path / "lake" / "some.parquet", range(400))
    write(tmp_path / "lake" / "other.parquet", range(400), last=1)  # none of its rows is in another table
    return tmp_path / "lake"


def asked(lake: Path, parent: str, child: str, **settings: Any) -> Explanation:
    scan = Reader().scan(str(lake), Settings(**settings))
    return explain(scan, parent=f"{parent}.parquet", child=f"{child}.parquet")


@pytest.mark.parametrize("promised", [{"verify": False}, {"verify": False, "epsilon": 0.1}])
def test_a_child_that_lacks_every_row_is_caught_whichever_column_shows_it(lake: Path, promised: Any) -> None:
    answer = asked(lake, "all", "other", **promised)
    assert answer.verdict is Verdict.IMPOSSIBLE
    assert answer.because == "a sampled row of the child has no equal in the parent in all 8 columns"


def test_with_epsilon_the_sample_catches_it_before_rows_are_compared(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step, "WITHIN", 1.0)
    assert asked(lake, "all", "other", epsilon=0.1).trail[-1].check == "prune_by_content"
    assert asked(lake, "all", "other").trail[-1].check == "verify_containment"


@pytest.mark.parametrize(
    ("promised", "rows", "share", "risk"),
    [
        ({}, 100, "0.03", "0.05"),
        ({"rows": 50}, 50, "0.059", "0.05"),  # 0.0582, and a smaller share would not be caught so surely
        ({"epsilon": 0.1}, 29, "0.1", "0.05"),
        ({"epsilon": 0.125, "delta": 0.001}, 52, "0.125", "0.001"),
    ],
)
def test_an_edge_that_stands_on_a_sample_says_what_was_promised(
    lake: Path, promised: Any, rows: int, share: str, risk: str
) -> None:
    answer = asked(lake, "all", "some", verify=False, **promised)
    assert answer.verdict is Verdict.POSSIBLE
    assert answer.because == (
        "every sampled row of the child has an equal in the parent in all 8 columns "
        f"(of {rows} rows drawn uniformly: if the parent lacked a share of {share} or more of the child's rows, this "
        f"would happen with a probability of {risk} at most)"
    )
    assert (1 - float(share)) ** rows <= float(risk) * (1 + 1e-9), "the theorem's own arithmetic"


def test_where_copies_count_a_sample_says_that_it_did_not_count_them(lake: Path) -> None:
    assert "at most; copies were not counted)" in asked(lake, "all", "some", verify=False, bag=True).because


def test_a_cheap_sample_names_the_columns_and_promises_nothing(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "WITHIN", 1.0)
    write(lake / "gaps.parquet", GAPS)
    answer = asked(lake, "gaps", "some")
    assert answer.because.startswith("a sampled row of the child has no equal in the parent in 4 of its 8 columns: c")


def test_a_pair_that_could_not_be_sampled_says_why(lake: Path) -> None:
    path = lake / "some.parquet"
    content = bytearray(path.read_bytes())
    content[4 : len(content) // 2] = b"\xff" * (len(content) // 2 - 4)  # the pages; the footer is whole
    path.write_bytes(content)
    answer = asked(lake, "all", "some", verify=False)
    assert answer.verdict is Verdict.POSSIBLE
    assert answer.trail[-1].check == "prune_by_content" and "some.parquet could not be read" in answer.because


class Watching(Reader):
    """Notes in which columns each table was sampled."""

    def __init__(self) -> None:
        super().__init__()
        self.sampled: dict[str, tuple[str, ...]] = {}
        self.tools = replace(self.tools, content=self._watched)

    def _watched(self, scan: Scan, settings: Settings, progress: Progress) -> Content:
        content = self._content(scan, settings, progress)
        take = content.take_samples

        def take_samples(probes: Sequence[Probe]) -> Any:
            self.sampled |= {scan.tables[p.child].name: tuple(map(str, p.columns)) for p in probes}
            return take(probes)

        content.take_samples = take_samples  # type: ignore[method-assign]
        return content


def test_the_columns_named_are_those_compared_also_beside_a_deleted_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deleted table stays in the graph, but says nothing about which columns are selective any more."""
    monkeypatch.setattr(step, "WITHIN", 1.0)
    lake = tmp_path / "lake"
    write(lake / "all.parquet", GAPS, extra=[n % 3 for n in GAPS])
    write(lake / "some.parquet", range(500, 520), extra=[1] * 20)
    write(lake / "gone.parquet", range(3), extra=[0, 10**6, 5])  # by this table, `extra` is the most selective column
    reader = Watching()
    old = replace(reader.scan(str(lake), Settings(columns=2)), run="first")
    assert "extra" in reader.sampled["some.parquet"]
    (lake / "gone.parquet").unlink()
    write(lake / "new.parquet", range(600, 625), extra=[1] * 25)
    again = Watching()
    away = {"gone.parquet": Absent("all.parquet")}
    done = update(old, settings=Settings(columns=2), tools=again.tools, rebuildable=away).scan
    assert "gone.parquet" in done.absent
    assert "extra" not in again.sampled["new.parquet"]
    for child in ("some.parquet", "new.parquet"):
        parent = done.number_of["all.parquet"]
        because = explain(done, parent="all.parquet", child=child).because
        named = re.search(r"in 2 of its 9 columns: (.*)$", because)
        assert named, because
        assert tuple(named[1].split(", ")) == again.sampled[child]
        assert tuple(map(str, compared_columns(done, parent, done.number_of[child]))) == again.sampled[child]


class Drawing(Inline):
    """Notes which rows were drawn; reads none."""

    drawn: list[tuple[str, int]]

    def run(self, task: Any, items: Sequence[Any], progress: Progress = silent) -> list[Any]:
        assert {item["kind"] for item in items} == {"sample"}
        self.drawn = [
            (os.path.basename(item["slice"]["path"]), item["slice"]["first"] + place)
            for item in items
            for place in item["places"]
        ]
        return []


def drawn_with(scan: Scan, key: int, *, rows: int) -> list[tuple[str, int]]:
    drawing = Drawing()
    content = lake_content(scan, drawing, replace(HASHING, key=key.to_bytes(32, "big")))
    content.take_samples([Probe(0, scan.profiles[0].schema.columns, rows, uniform=True)])
    return drawing.drawn


@pytest.fixture
def skewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scan:
    """A table of very unlike files in partition folders, one of them empty, one of many row groups and slices."""
    monkeypatch.setattr(slicing, "SLICE_ROWS", 70)
    for number, (rows, group) in enumerate([(1, 1), (0, 1), (5, 2), (300, 13), (94, 94)]):
        path = tmp_path / "lake" / "t" / f"day=2024-01-0{number + 1}" / f"{number}.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table({"id": pa.array(range(rows), pa.int64())}), path, row_group_size=group)
    return Reader().scan(str(tmp_path / "lake"), Settings())


@pytest.mark.slow
def test_every_row_of_a_skewed_table_is_drawn_alike(skewed: Scan) -> None:
    draws, rows = 20_000, 400
    counts = Counter(one for key in range(draws) for one in drawn_with(skewed, key, rows=1))
    expected = draws / rows
    missing = rows - len(counts)
    chi_squared = sum((n - expected) ** 2 / expected for n in counts.values()) + missing * expected
    assert counts.total() == draws
    assert chi_squared < 493, "beyond that in one of a thousand cases, by 399 degrees of freedom"
    assert {name for name, _ in counts} == {"0.parquet", "2.parquet", "3.parquet", "4.parquet"}


def test_draws_are_independent_of_one_another(tmp_path: Path) -> None:
    """Two draws from six rows in three files: each pair as often, and the same row twice as often as any other."""
    for number, rows in enumerate((1, 2, 3)):
        path = tmp_path / "lake" / "t" / f"{number}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": list(range(rows))}), path)
    scan = Reader().scan(str(tmp_path / "lake"), Settings(folder_table=("t",)))
    assert [profile.rows for profile in scan.profiles] == [6]
    trials = 18_000
    seen = Counter(tuple(drawn_with(scan, key, rows=2)) for key in range(trials))
    expected = {pair: trials / 36 if len(pair) == 1 else trials / 18 for pair in seen}
    assert len(seen) == 6 + 15
    assert sum((seen[pair] - n) ** 2 / n for pair, n in expected.items()) < 46, "one in a thousand, by 20 degrees"


def test_the_rows_to_sample_are_the_least_that_keep_the_promise() -> None:
    for epsilon in (0.5, 0.26, 0.1, 0.05, 0.01, 0.001):
        for delta in (0.2, 0.05, 0.01, 1e-6):
            rows = rows_to_sample(missing_share=epsilon, risk=delta)
            assert (1 - epsilon) ** rows <= delta * (1 + 1e-9) < (1 - epsilon) ** (rows - 1) * (1 + 2e-9)
