"""Versions of local files: a write after the listing always shows, or the file is not settled."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.stores.local import CLOCK_NS, WHOLE_SECONDS_NS, LocalStore, is_settled, version_of

LISTED_NS = 2_000_000_000_500_000_000
LONG_AGO_NS = 1_600_000_000_123_456_789


def stat(modified_ns: int, changed_ns: int = 0) -> os.stat_result:
    times = {"st_mtime_ns": modified_ns, "st_ctime_ns": changed_ns}
    return os.stat_result([0o100644, 7, 3, 1, 0, 0, 100, 0, 0, 0], times)


@pytest.mark.parametrize(
    ("modified_ns", "expected"),
    [
        (LISTED_NS - CLOCK_NS - 1, True),
        (LISTED_NS - CLOCK_NS + 1, False),
        (LISTED_NS + 10**12, False),
        (LISTED_NS - 500_000_000, False),  # a time in whole seconds: such clocks are coarse
        (LISTED_NS - 2_500_000_000, True),
    ],
)
def test_a_file_that_was_written_just_before_it_was_listed_is_not_settled(modified_ns: int, expected: bool) -> None:
    assert is_settled(stat(modified_ns), LISTED_NS) is expected


@pytest.mark.parametrize(("changed_ns", "expected"), [(LONG_AGO_NS, True), (LISTED_NS, False), (0, False)])
def test_a_time_in_the_future_tells_nothing_and_the_system_s_own_does(changed_ns: int, expected: bool) -> None:
    assert is_settled(stat(LISTED_NS + 10**18, changed_ns), LISTED_NS) is expected


def test_a_listing_at_no_known_time_settles_nothing() -> None:
    assert not is_settled(stat(LONG_AGO_NS, LONG_AGO_NS), 0)


@given(st.integers(-5, 5), st.sampled_from([1, 4_000_000, 10**9, WHOLE_SECONDS_NS]), st.integers(0, 10**10))
def test_of_a_settled_file_every_later_write_moves_the_time(steps: int, grain_ns: int, after_ns: int) -> None:
    """Whatever grain up to two seconds the file system's clock has; times are rounded down to it."""
    written = (LISTED_NS + steps * 10**8) // grain_ns * grain_ns
    rewritten = (LISTED_NS + after_ns) // grain_ns * grain_ns
    if is_settled(stat(written, written), LISTED_NS):
        assert rewritten != written


@pytest.mark.parametrize("how", ["bytes", "time", "mode", "replaced"])
def test_each_change_to_a_file_gives_it_another_version(how: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    before = LocalStore().version(str(path))
    assert before and LocalStore().version(str(path)) == before
    if how == "bytes":  # of the same size and time
        path.write_bytes(b"two")
        os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    elif how == "time":
        os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS + 1))
    elif how == "mode":
        path.chmod(0o600)
    else:
        other = tmp_path / "b"
        other.write_bytes(b"one")
        os.utime(other, ns=(LONG_AGO_NS, LONG_AGO_NS))
        other.replace(path)
    after = LocalStore().version(str(path))
    assert after and after != before


def test_names_of_one_file_have_one_identity_and_a_link_has_its_own(tmp_path: Path) -> None:
    path, name, link = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    path.write_bytes(b"one")
    os.link(path, name)
    link.symlink_to(path)
    one, two, three = (LocalStore(LISTED_NS).stat(str(p)).version for p in (path, name, link))
    assert one == two == version_of(path.stat(), LISTED_NS) and three.identity != one.identity


def test_nothing_is_read_through_a_link_and_a_pipe_does_not_block(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"PAR1")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(OSError):
            LocalStore().ranges(str(tmp_path / name), [(0, 4)])
