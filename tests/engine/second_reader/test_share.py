"""Who shares a job, and what becomes of them when it fails."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.engine.second_reader import share as share_jobs
from r2d2.engine.second_reader.many import Pair
from r2d2.engine.second_reader.share import bundles, share
from r2d2.engine.spark.failures import WORKER_DIED, in_words
from r2d2.errors import R2D2Error, TableError, UserError
from r2d2.model.progress import News


def killed() -> R2D2Error:
    """What is raised when what a job reads kills its worker."""
    told = in_words(RuntimeError(WORKER_DIED))
    assert told is not None
    told.__cause__ = RuntimeError(WORKER_DIED)
    return told


@given(st.lists(st.sampled_from(["good", "good", "good", "bad", "killer", "odd", "unreadable"]), max_size=40))
def test_only_those_to_blame_fail_and_the_good_share_jobs(kinds: list[str]) -> None:
    alone_asked: list[int] = []

    def fail(kind: str) -> None:
        if kind == "bad":
            raise TableError("bad")
        if kind == "killer":
            raise killed()

    def pair(number: int) -> Pair | None:
        if kinds[number] == "unreadable":
            raise TableError("unreadable")
        return None if kinds[number] == "odd" else Pair(into=str(number))

    def together(pairs: Sequence[Pair]) -> list[str]:
        for one in pairs:
            fail(kinds[int(one.into)])
        return [f"answer {one.into}" for one in pairs]

    def alone(number: int) -> str:
        alone_asked.append(number)
        fail(kinds[number])
        return f"answer {number}"

    told: list[News] = []
    answers = share(range(len(kinds)), pair=pair, together=together, alone=alone, progress=told.append)
    for number, (kind, answer) in enumerate(zip(kinds, answers, strict=True)):
        assert (answer == f"answer {number}") == (kind in ("good", "odd"))
        assert isinstance(answer, R2D2Error) == (kind not in ("good", "odd"))
    done = [news.done for news in told]
    assert done == sorted(done) and {news.total for news in told} <= {len(kinds)}
    if "bad" not in kinds and "killer" not in kinds and kinds.count("good") > 1:
        assert all(kinds[number] == "odd" for number in alone_asked)


def test_what_no_table_is_to_blame_for_is_raised_at_once() -> None:
    asked: list[int] = []

    def gone(pairs: Sequence[Pair]) -> list[str]:
        asked.append(len(pairs))
        raise UserError("the cluster has ended the application")

    with pytest.raises(UserError, match="ended"):
        share(range(8), pair=lambda number: Pair(), together=gone, alone=str)
    assert asked == [8]
    with pytest.raises(UserError, match="ended"):
        share(range(1), pair=lambda number: None, together=gone, alone=lambda number: gone([])[0])


def test_a_bundle_has_so_many_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_jobs, "TABLES_PER_JOB", 3)
    assert [len(bundle) for bundle in bundles([(number, Pair()) for number in range(7)])] == [3, 3, 1]
    assert list(bundles([])) == []
