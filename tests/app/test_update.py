"""An update takes over the settings of its scan, and saves a run only if there is news."""

from __future__ import annotations

import pytest

from r2d2.app.update import as_scanned, update_lake
from r2d2.app.workspace import Workspace
from r2d2.errors import StateError, UserError
from r2d2.model.scan import Scan
from r2d2.model.scan_settings import ScanSettings
from r2d2.settings import Settings
from tests.app.conftest import SmallLake


def test_update_takes_the_settings_of_the_scan() -> None:
    old = Scan((), settings=ScanSettings(exclude=("tmp/*",), rows=7))
    assert as_scanned(Settings(keep_runs=5), old) == Settings(exclude=("tmp/*",), rows=7, keep_runs=5)


def test_other_settings_than_the_scans_are_refused() -> None:
    old = Scan(())
    with pytest.raises(UserError, match="bag is True and was False"):
        as_scanned(Settings(bag=True), old)


def test_a_run_is_saved_only_if_there_is_news(small: SmallLake) -> None:
    before = Workspace(small.settings).newest()
    same = update_lake(Workspace(small.settings))
    assert not same.is_news and same.scan.run == before.run == Workspace(small.settings).newest().run
    small.write("new.parquet", range(4, 6))
    done = update_lake(Workspace(small.settings))
    assert done.is_news and done.gained == [("all.parquet", "new.parquet"), ("part.parquet", "new.parquet")]
    assert Workspace(small.settings).newest().run == done.scan.run != before.run


def test_without_a_scan_there_is_nothing_to_update(tmp_path: object) -> None:
    state = f"{tmp_path}/state"
    with pytest.raises(StateError, match="there is no scan"):
        update_lake(Workspace(Settings(state=state)))
