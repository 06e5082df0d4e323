"""Two processes at once: one works, the other is told who holds the lake (HAZARDS 17)."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

import pytest

from r2d2.safety.doctor import doctor
from r2d2.safety.errors import Busy, Refused
from r2d2.safety.locked_lake import hold
from r2d2.safety.paths import LOCK, SAFETY
from r2d2.safety.posix import PosixFiles
from r2d2.safety.posix_quarantine import make_folders
from r2d2.safety.status import status
from tests.safety.hooked import Hooked
from tests.safety.world import check_all_comes_back, posix_world


def in_a_process(work: object) -> int:
    """Run *work* in a process of its own; its exit code."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            work()  # type: ignore[operator]
            code = 0
        except Busy:
            code = 10
        except Refused:
            code = 11
        finally:
            os._exit(code)
    return child


def exit_codes(children: list[int]) -> list[int]:
    return sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


def test_of_many_applies_of_one_plan_exactly_one_does_it(fast_folder: Path) -> None:
    for number in range(5):
        world = posix_world(fast_folder / str(number) / "lake")
        codes = exit_codes([in_a_process(world.apply) for _ in range(4)])
        assert codes[0] == 0 and set(codes[1:]) <= {10, 11}, codes
        assert set(check_all_comes_back(world).values()) == {"lake", "quarantine"}


def test_two_plans_that_delete_each_other_s_parent_never_both_succeed(fast_folder: Path) -> None:
    """Equal tables: one plan keeps the first, the other the second."""
    from dataclasses import replace

    from r2d2.safety.plan import seal

    for number in range(5):
        world = posix_world(fast_folder / str(number) / "lake", ["b/copy"])
        entry = world.plan.entries[0]
        mirror = replace(entry, child=entry.parents[0], parents=(entry.child,))
        other = seal(replace(world.plan, plan_id="mirror", entries=(mirror,)))
        codes = exit_codes([in_a_process(world.apply), in_a_process(lambda: world.apply(plan=other))])  # noqa: B023
        assert codes[0] == 0 and codes[1] in (10, 11), codes


def test_who_holds_the_lake_is_said(fast_folder: Path) -> None:
    world = posix_world(fast_folder / "lake")
    with world.lake():
        for command in (world.apply, world.drill, world.purge, world.restore, world.recover):
            with pytest.raises(Busy, match=f"process {os.getpid()} on"):
                command()
        assert str(os.getpid()) in str(status(world.files).held_by)
        assert "lock" in [finding.what for finding in doctor(world.files)]
    assert status(world.files).held_by is None
    assert "lock" not in [finding.what for finding in doctor(world.files)]


def test_whoever_only_looks_refuses_nobody(fast_folder: Path) -> None:
    world = posix_world(fast_folder / "lake")
    world.recover()
    with open(fast_folder / "lake" / LOCK, "rb") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)  # what a look at the lock does, for longer than it does
        assert status(world.files).held_by is None
        gone = threading.Timer(0.03, lambda: fcntl.flock(looking, fcntl.LOCK_UN))
        gone.start()
        world.recover()
        gone.join()


def test_a_lock_file_that_was_replaced_meanwhile_is_not_trusted(fast_folder: Path) -> None:
    world = posix_world(fast_folder / "lake")
    world.recover()
    files = world.files

    class Swapping(PosixFiles):
        def stat(self, path: str) -> object:  # type: ignore[override]
            if path == LOCK:
                os.unlink(os.path.join(self.root, LOCK))
                Path(self.root, LOCK).write_text("")
            return super().stat(path)

    with pytest.raises(Busy, match="replaced"), hold(Swapping(files.root)):
        pass


def test_two_processes_may_make_the_folders_at_once(fast_folder: Path) -> None:
    world = posix_world(fast_folder / "lake")

    def before(number: int, name: str, given: tuple[object, ...]) -> None:
        if name == "make_folder":
            os.makedirs(os.path.join(world.files.root, str(given[0])), exist_ok=True)

    make_folders(Hooked(world.files, before))  # type: ignore[arg-type]
    assert world.files.names(SAFETY) == ["quarantine", "work"]
