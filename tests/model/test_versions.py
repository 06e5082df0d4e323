"""Versions compare by what they say of the file, not by who has looked when."""

from __future__ import annotations

from r2d2.model.versions import FileVersion

ONE = FileVersion("a", "1")


def test_a_version_that_was_seen_too_early_is_the_same_version() -> None:
    early = ONE._replace(settled=False)
    assert early == ONE and not early.__ne__(ONE) and len({early, ONE}) == 1 and not early.settled


def test_another_identity_or_state_is_another_version_and_so_is_anything_else() -> None:
    for other in (FileVersion("b", "1"), FileVersion("a", "2"), None, ("a", "1", True)):
        assert other != ONE and ONE.__ne__(other)
