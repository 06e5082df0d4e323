"""A deleted table comes back from quarantine, without Spark where its copy is whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from r2d2.app.restore import restore_tables
from r2d2.app.status import table_states
from r2d2.app.workspace import Workspace
from r2d2.errors import UserError
from r2d2.safety.errors import Refused
from r2d2.safety.paths import SAFETY
from tests.app.conftest import SmallLake


def states(lake: SmallLake) -> dict[str, str]:
    return {one.table: one.state for one in table_states(Workspace(lake.settings)).tables}


@pytest.mark.parametrize("named", [None, ["part.parquet"]])
def test_a_deleted_table_comes_back_as_it_was(small: SmallLake, named: list[str] | None) -> None:
    before = (small.path / "part.parquet").read_bytes()
    small.delete("part.parquet", parent="all.parquet")
    assert states(small) == {"part.parquet": "quarantined"}
    recovered, done = restore_tables(Workspace(small.settings), named)
    assert recovered == () and [one.is_restored for one in done] == [True]
    assert (small.path / "part.parquet").read_bytes() == before and states(small) == {"part.parquet": "restored"}
    assert not Workspace(small.settings).scan().absent


def test_a_copy_goes_elsewhere_and_the_table_stays_deleted(deleted: SmallLake, tmp_path: Path) -> None:
    _, (one,) = restore_tables(Workspace(deleted.settings), None, to=str(tmp_path / "copies"))
    assert one.is_restored and (tmp_path / "copies" / "part.parquet").is_file()
    assert states(deleted) == {"part.parquet": "quarantined"}


def test_no_copy_goes_into_the_safety_folder_or_where_no_folder_can_be(deleted: SmallLake, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="is in the safety folder"):
        restore_tables(Workspace(deleted.settings), None, to=str(deleted.path / SAFETY / "here"))
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be made"):
        restore_tables(Workspace(deleted.settings), None, to=str(tmp_path / "file" / "below"))


def test_where_nothing_was_deleted_there_is_nothing_to_restore(small: SmallLake) -> None:
    with pytest.raises(UserError, match="nothing was ever deleted"):
        restore_tables(Workspace(small.settings), None)
    assert not (small.path / SAFETY).exists()
