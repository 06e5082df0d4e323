"""A command loads its scan once, opens the lake once, and asks the doctor at most once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from r2d2.app import deletions, doctor
from r2d2.app.status import lake_status
from r2d2.app.update import update_lake
from r2d2.app.workspace import Workspace, lake_root
from r2d2.errors import StateError, UserError
from r2d2.flows.plan import NO_DELETIONS
from r2d2.model.table import Absent
from r2d2.safety.locked_lake import hold, posix_files
from r2d2.safety.paths import SAFETY, slot_of
from r2d2.safety.quarantine import in_quarantine
from r2d2.safety.records import MoveIntended
from r2d2.settings import Settings
from r2d2.state.store import StateStore
from tests.app.conftest import PLAN, SmallLake

GONE = {"part.parquet": Absent("all.parquet")}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """The questions to the doctor: whether each was a deep one."""
    questions: list[bool] = []
    real = deletions.doctor

    def counting(files: object, *, deep: bool) -> object:
        questions.append(deep)
        return real(files, deep=deep)  # type: ignore[arg-type]

    monkeypatch.setattr(deletions, "doctor", counting)
    monkeypatch.setattr(doctor, "doctor", counting)
    return questions


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The states that scans were loaded from."""
    folders: list[Path] = []
    real = StateStore.load

    def counting(self: StateStore) -> object:
        folders.append(self.folder)
        return real(self)

    monkeypatch.setattr(StateStore, "load", counting)
    return folders


def test_the_newest_scan_is_loaded_and_marked_once(
    deleted: SmallLake, opened: list[str], asked: list[bool], loaded: list[Path]
) -> None:
    workspace = Workspace(deleted.settings)
    assert workspace.scan().absent == GONE and workspace.scan() is workspace.scan()
    assert [table.name for table in workspace.scan_of_present().tables] == ["all.parquet", "other.parquet"]
    assert opened == [str(deleted.path)]
    # planning takes long: what was deleted is read from the journal of that moment
    assert workspace.past_deletions(workspace.scan()).parents_of_deleted == {"all.parquet": "part.parquet"}
    assert workspace.past_deletions(workspace.scan_of_present()).deleted == frozenset()
    assert workspace.root() == str(deleted.path)
    assert (opened, asked, len(loaded)) == ([str(deleted.path)] * 3, [False], 1)


def test_an_update_opens_the_lake_once_and_asks_the_doctor_once(
    deleted: SmallLake, opened: list[str], asked: list[bool], loaded: list[Path]
) -> None:
    deleted.write("new.parquet", range(4, 6))
    done = update_lake(Workspace(deleted.settings))
    assert done.scan.absent == GONE and not done.endangered and ("all.parquet", "new.parquet") in done.gained
    assert (opened, asked, len(loaded)) == ([str(deleted.path)], [False], 1)


def test_where_a_parent_changed_the_one_question_is_a_deep_one(
    deleted: SmallLake, opened: list[str], asked: list[bool]
) -> None:
    deleted.write("all.parquet", range(25))
    done = update_lake(Workspace(deleted.settings))
    assert [one.table for one in done.endangered] == ["part.parquet"]
    assert done.scan.absent["part.parquet"].wrong == done.endangered[0].because
    assert (opened, asked) == ([str(deleted.path)], [True])
    assert Workspace(deleted.settings).newest().absent == done.scan.absent


def test_a_status_opens_the_lake_once_and_asks_the_doctor_once(
    deleted: SmallLake, opened: list[str], asked: list[bool]
) -> None:
    found = lake_status(Workspace(deleted.settings), now=0.0)
    assert [one.table for one in found.status.tables] == ["part.parquet"] and not found.wrong
    assert (opened, asked) == ([str(deleted.path)], [False])


def test_where_nothing_was_deleted_nothing_is_asked_and_nothing_written(
    small: SmallLake, opened: list[str], asked: list[bool]
) -> None:
    workspace = Workspace(small.settings)
    assert workspace.scan().absent == {} and not asked and len(opened) == 1
    with workspace.locked_if_touched() as here:
        assert here is None
    with pytest.raises(UserError, match="nothing was ever deleted"), workspace.locked_lake():
        pass
    assert not (small.path / SAFETY).exists()


def half_way(lake: SmallLake) -> None:
    """Leave a deletion as a crash does."""
    with posix_files(str(lake.path)) as files, hold(files) as held:
        (slot,) = held.registry.active
        again = slot_of(PLAN, "other.parquet")
        entry = replace(slot.entry, child=replace(slot.entry.child, name="other.parquet", location="other.parquet"))
        held.write(MoveIntended(again, PLAN, entry, held.now()))
        files.move("other.parquet", in_quarantine(again))


def test_the_lake_is_recovered_before_a_scan_is_shown(deleted: SmallLake, caplog: pytest.LogCaptureFixture) -> None:
    half_way(deleted)
    assert not (deleted.path / "other.parquet").exists()
    assert Workspace(deleted.settings).scan().absent == GONE
    assert (deleted.path / "other.parquet").exists() and "recovered other.parquet" in caplog.text


def test_each_of_several_roots_is_recovered_and_marks_stay_as_they_were(deleted: SmallLake, tmp_path: Path) -> None:
    half_way(deleted)
    (tmp_path / "second").mkdir()
    deleted.save_scan(deleted.path, tmp_path / "second")
    workspace = Workspace(deleted.settings)
    assert workspace.scan().absent == {} and (deleted.path / "other.parquet").exists()
    assert workspace.past_deletions(workspace.scan()) == NO_DELETIONS
    with pytest.raises(UserError, match="2 roots") as refused:
        workspace.root()
    assert "--lake DIR" in refused.value.hint


def test_a_damaged_journal_keeps_nobody_from_the_graph(deleted: SmallLake) -> None:
    journal = deleted.path / SAFETY / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b"Committed", b"Commitxed"))
    workspace = Workspace(deleted.settings)
    assert workspace.scan().absent == {} and len(workspace.scan().tables) == 3


def test_the_lake_is_the_given_folder_or_that_of_the_scan(small: SmallLake, tmp_path: Path) -> None:
    assert Workspace(Settings(state=str(tmp_path / "none")), lake="/elsewhere").root() == "/elsewhere"
    with pytest.raises(StateError, match="there is no scan") as refused:
        Workspace(Settings(state=str(tmp_path / "none"))).root()
    assert "--lake DIR" in refused.value.hint
    scan = Workspace(small.settings).newest()
    assert lake_root(scan) == str(small.path)
    with pytest.raises(UserError, match="is not there any more"):
        lake_root(replace(scan, roots=(str(tmp_path / "moved"),)))
    with pytest.raises(UserError, match="is no folder of tables"):
        lake_root(replace(scan, roots=(str(small.path / "all.parquet"),)))


def test_a_folder_of_a_lake_is_not_taken_for_the_lake(deleted: SmallLake) -> None:
    (deleted.path / "sub").mkdir()
    with (
        pytest.raises(UserError, match="is a folder of the lake"),
        Workspace(deleted.settings, lake=str(deleted.path / "sub")).looking(),
    ):
        pass
