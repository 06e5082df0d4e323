"""The file layer on disk: no link is followed, nothing is replaced, and what it does not know it refuses (HAZARDS 31)."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from r2d2.safety import posix
from r2d2.safety.doctor import doctor
from r2d2.safety.errors import Refused
from r2d2.safety.files import refuse_remote
from r2d2.safety.locked_lake import posix_files
from r2d2.safety.paths import QUARANTINE, SAFETY, WORK, slot_of
from r2d2.safety.posix import PosixFiles, rename_new_by_kernel, rename_new_by_link
from r2d2.safety.quarantine import in_quarantine, in_work, scrap
from r2d2.safety.snapshots import see_table
from r2d2.safety.status import status
from tests.safety.hooked import Killed
from tests.safety.world import check_all_comes_back, check_recovered, posix_world


@pytest.fixture
def files(fast_folder: Path) -> Iterator[PosixFiles]:
    (fast_folder / "lake" / "t").mkdir(parents=True)
    (fast_folder / "lake" / "t" / "a").write_bytes(b"aaa")
    (fast_folder / "outside").mkdir()
    (fast_folder / "outside" / "secret").write_bytes(b"secret")
    with posix_files(str(fast_folder / "lake")) as layer:
        yield layer


RENAMES = [rename_new_by_kernel, rename_new_by_link]


@pytest.mark.parametrize("rename", RENAMES, ids=lambda rename: rename.__name__)
def test_a_move_never_replaces_anything(files: PosixFiles, rename: Any) -> None:
    layer = PosixFiles(files.root, rename_new=rename)
    layer.create("b", [b"b"])
    layer.create("c", [b"c"])
    layer.make_folder("empty")
    for source, target in (("b", "c"), ("t", "empty"), ("t", "c"), ("b", "empty"), ("b", "t/a")):
        with pytest.raises(FileExistsError):
            layer.move(source, target)
    assert b"".join(layer.chunks("c")) == b"c" and layer.names("t") == ["a"]
    layer.move("b", "t/b")
    layer.move("t", "moved")
    assert layer.names("moved") == ["a", "b"] and layer.stat("t") is None
    with pytest.raises(FileNotFoundError):
        layer.move("t", "x")


def test_without_the_kernel_s_help_a_move_takes_the_other_way(
    files: PosixFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Without:
        def __init__(self, *given: Any, **named: Any) -> None: ...

    class Refusing(Without):
        def renameat2(self, *given: Any) -> int:
            ctypes.set_errno(errno.EINVAL)
            return -1

    for kind in (Without, Refusing):
        monkeypatch.setattr(posix.ctypes, "CDLL", kind)
        files.move("t", "u")
        files.move("u", "t")
    files.create("b", [b"b"])
    files.move("b", "c")
    assert files.names("") == ["c", "t"]


def test_a_file_under_two_names_is_settled_after_a_crash_between_link_and_unlink(fast_folder: Path) -> None:
    """The way that POSIX has leaves one file under two names when it is killed half-way."""

    def killed_half_way(from_folder: int, name: str, to_folder: int, new_name: str) -> None:
        os.link(name, new_name, src_dir_fd=from_folder, dst_dir_fd=to_folder, follow_symlinks=False)
        raise Killed

    world = posix_world(fast_folder / "one" / "lake", ["flat.rows"])
    half_way = PosixFiles(world.files.root, rename_new=killed_half_way)
    world.rebuilder.verify_many = refusing(world.rebuilder.verify_many)  # so the table is to go back
    with pytest.raises(Killed):
        world.apply(half_way)
    assert check_recovered(world)["flat.rows"] == "lake"
    world = posix_world(fast_folder / "two" / "lake", ["flat.rows"])
    half_way = PosixFiles(world.files.root, rename_new=killed_half_way)
    world.apply()
    with pytest.raises(Killed):
        world.restore(half_way)
    assert check_all_comes_back(world)["flat.rows"] == "lake"
    assert os.stat(os.path.join(world.files.root, "flat.rows")).st_nlink == 1


@pytest.mark.parametrize("kernel", [True, False], ids=["with renameat2", "without"])
def test_a_writer_who_replaces_a_table_as_it_is_moved_aside_loses_nothing(
    fast_folder: Path, monkeypatch: pytest.MonkeyPatch, kernel: bool
) -> None:
    """Inside the move itself: whatever the system call, the file that bears the name then goes along or stays."""
    world = posix_world(fast_folder / "lake", ["flat.rows"])
    home, new = Path(world.files.root) / "flat.rows", b"the writer's new rows"
    if not kernel:
        monkeypatch.setattr(posix, "_rename_by_kernel", lambda *given: False)
    for call in ("link", "rename", "unlink"):
        monkeypatch.setattr(posix.os, call, racing(getattr(os, call), home, new))
    for one in world.apply():
        assert one.is_deleted == kernel  # with the kernel's call, none of these is used for it
    found = [path for path in Path(world.files.root).rglob("*") if path.is_file() and path.read_bytes() == new]
    assert bool(found) != kernel


def racing(call: Any, home: Path, new: bytes) -> Any:
    """The call, and an ordinary atomic writer before and after it, if the table lies there."""
    replace_by = os.replace

    def write() -> None:
        if home.exists():
            home.with_suffix(".tmp").write_bytes(new)
            replace_by(home.with_suffix(".tmp"), home)

    def raced(name: str, *given: Any, **named: Any) -> None:
        if name == home.name:
            write()
        call(name, *given, **named)
        if name == home.name:
            write()

    return raced


def refusing(verify_many: Any) -> Any:
    """Every comparison finds a difference."""
    return lambda asked: [replace(one, differs="it does") for one in verify_many(asked)]


def test_quarantine_is_for_nobody_else(fast_folder: Path) -> None:
    world = posix_world(fast_folder / "lake")
    mask = os.umask(0)
    try:
        world.apply()
        world.drill()
    finally:
        os.umask(mask)
    for path in (SAFETY, QUARANTINE, WORK):  # the journal holds values, too
        assert os.stat(os.path.join(world.files.root, path)).st_mode & 0o777 == 0o700
    world.purge()


@pytest.mark.parametrize("allowed", [True, False])
def test_a_group_that_cannot_be_given_gets_nothing(
    files: PosixFiles, monkeypatch: pytest.MonkeyPatch, allowed: bool
) -> None:
    given = list[int]()

    def change_group(descriptor: int, owner: int, group: int) -> None:
        given.append(group)
        if not allowed:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    another = os.stat(files.root).st_gid + 1
    monkeypatch.setattr(PosixFiles, "_open_to", lambda self, path: (another, 0o044))
    monkeypatch.setattr(posix.os, "fchown", change_group)
    files.open_as("t/a", like="t")
    assert given == [another]
    assert os.stat(os.path.join(files.root, "t/a")).st_mode & 0o077 == (0o044 if allowed else 0o004)


@pytest.mark.parametrize(("same_group", "left"), [(True, 0o044), (False, 0o004)])
def test_a_table_of_two_parents_is_for_those_who_may_read_both(
    files: PosixFiles, monkeypatch: pytest.MonkeyPatch, same_group: bool, left: int
) -> None:
    group = os.stat(files.root).st_gid
    parents = {"one": (group, 0o066), "two": (group if same_group else group + 1, 0o055)}
    monkeypatch.setattr(PosixFiles, "_open_to", lambda self, path: parents[path])
    files.open_as("t/a", ["one", "two"])
    assert os.stat(os.path.join(files.root, "t/a")).st_mode & 0o077 == left


@pytest.mark.parametrize(("folder", "file"), [(0o700, 0o644), (0o755, 0o444), (0o750, 0o644), (0o711, 0o640)])
def test_who_may_read_a_rebuilt_table_is_who_may_read_its_parent(fast_folder: Path, folder: int, file: int) -> None:
    root = fast_folder / "lake"
    world = posix_world(root)
    root.chmod(0o755)
    for step in (world.apply, world.drill, world.purge):
        step()
    for parent in (root / "big", root / "other"):
        parent.chmod(folder)
        for path in parent.iterdir():
            path.chmod(file)
    assert all(one.by == "recipe" for one in world.restore())
    passing = (0o070 if folder & 0o010 else 0) | (0o007 if folder & 0o001 else 0)
    for path in (root / "a/small", root / "b/copy"):
        assert path.stat().st_mode & 0o777 == folder | 0o700
        assert {one.stat().st_mode & 0o077 for one in path.rglob("*") if one.is_file()} == {file & passing}
    assert (root / "flat.rows").stat().st_mode & 0o077 == file & passing


def test_links_are_not_followed(files: PosixFiles, fast_folder: Path) -> None:
    outside = fast_folder / "outside"
    os.symlink(outside, fast_folder / "lake" / "link")
    os.symlink(outside / "secret", fast_folder / "lake" / "file-link")
    assert files.stat("link").kind == "other"  # type: ignore[union-attr]
    assert files.stat("link/secret") is None
    for attempt in (
        lambda: files.names("link"),
        lambda: list(files.chunks("link/secret")),
        lambda: list(files.chunks("file-link")),
        lambda: files.append("file-link", b"x"),
        lambda: files.truncate("file-link", 0),
        lambda: files.create("link/new", [b"x"]),
        lambda: files.create("file-link", [b"x"]),
        lambda: files.unlink("link/secret"),
        lambda: files.move("link/secret", "stolen"),
        lambda: files.move("t/a", "link/a"),
        lambda: files.make_folder("link/new"),
        lambda: files.remove_folder("link"),
        lambda: files.sync("file-link"),
    ):
        with pytest.raises(OSError):
            attempt()
    assert (outside / "secret").read_bytes() == b"secret" and os.listdir(outside) == ["secret"]
    files.unlink("file-link")  # the link goes, not what it leads to
    assert (outside / "secret").read_bytes() == b"secret"


@pytest.mark.parametrize("path", ["..", "../outside/secret", "t/../../outside/secret", "t/.."])
def test_no_path_leads_upwards(files: PosixFiles, path: str) -> None:
    for attempt in (files.stat, files.unlink, files.sync, files.make_folder, lambda path: files.move("t/a", path)):
        with pytest.raises(OSError, match="leads upwards"):
            attempt(path)


def test_a_pipe_is_no_file_and_blocks_nobody(files: PosixFiles) -> None:
    os.mkfifo(os.path.join(files.root, "t", "pipe"))
    with pytest.raises(OSError, match="not a regular file"):
        list(files.chunks("t/pipe"))
    with pytest.raises(Refused, match="not a regular file"):
        see_table(files, "t", "t")


def test_a_root_that_is_swapped_stays_the_one_that_was_opened(files: PosixFiles, fast_folder: Path) -> None:
    os.rename(fast_folder / "lake", fast_folder / "moved")
    os.symlink(fast_folder / "outside", fast_folder / "lake")
    assert files.names("") == ["t"]


def test_what_is_no_lake_is_refused(fast_folder: Path) -> None:
    (fast_folder / "file").write_text("")
    for root in ("missing", "file"):
        with pytest.raises(Refused, match="no folder"):
            PosixFiles(str(fast_folder / root))
    with pytest.raises(Refused, match="cannot be opened") as caught:
        PosixFiles(str(fast_folder / ("x" * 300)))
    assert "may read" in caught.value.hint
    for address in ("s3://b/x", "hdfs://n/x", "abfss://c@a/x", "gs://b"):
        with pytest.raises(Refused, match="not supported yet"):
            refuse_remote(address)


def test_a_safety_folder_that_is_a_link_or_a_file_is_refused(fast_folder: Path) -> None:
    for number, make in enumerate((lambda path: os.symlink(fast_folder, path), lambda path: Path(path).write_text(""))):
        world = posix_world(fast_folder / str(number) / "lake")
        make(os.path.join(world.files.root, SAFETY))
        with pytest.raises(Refused, match="is not a folder"):
            world.apply()
    world = posix_world(fast_folder / "quarantine" / "lake")
    world.recover()
    os.rmdir(os.path.join(world.files.root, QUARANTINE))
    os.symlink(fast_folder, os.path.join(world.files.root, QUARANTINE))
    with pytest.raises(Refused, match="is not a folder"):
        world.apply()


def test_only_work_folders_are_ever_emptied(files: PosixFiles) -> None:
    slot = slot_of("plan", "t")
    for folder in ("t", "", SAFETY, f"{SAFETY}/work", in_quarantine(slot), in_work("../../t"), in_work(slot) + "/x"):
        with pytest.raises(Refused, match="not a work folder"):
            scrap(files, folder)
    assert files.names("t") == ["a"]


def test_a_half_written_journal_line_is_written_to_its_end(files: PosixFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(posix.os, "write", lambda descriptor, content: write(descriptor, content[:3]))
    files.create("long", [b"0123456789", b"abc"])
    files.append("long", b"defgh")
    monkeypatch.undo()
    assert b"".join(files.chunks("long")) == b"0123456789abcdefgh"
    files.truncate("long", 4)
    assert b"".join(files.chunks("long")) == b"0123"


def test_links_inside_a_rebuilt_table_are_removed_and_not_followed(files: PosixFiles, fast_folder: Path) -> None:
    slot = slot_of("plan", "t")
    for path in (SAFETY, f"{SAFETY}/work", in_work(slot), f"{in_work(slot)}/deep"):
        files.make_folder(path)
    os.symlink(fast_folder / "outside", os.path.join(files.root, in_work(slot), "deep", "link"))
    scrap(files, in_work(slot))
    assert files.stat(in_work(slot)) is None
    assert os.listdir(fast_folder / "outside") == ["secret"]
    files.create(in_work(slot), [b""])
    scrap(files, in_work(slot))
    scrap(files, in_work(slot))


def test_nobody_holds_a_lake_without_a_lock_file(files: PosixFiles) -> None:
    assert status(files).held_by is None and doctor(files) == ()


def test_a_folder_above_that_holds_something_is_found(tmp_path: Path) -> None:
    (tmp_path / "x" / "lake").mkdir(parents=True)
    files = PosixFiles(str(tmp_path / "x" / "lake"))
    (tmp_path / "x" / "lake" / ".mark").mkdir()
    assert files.lies_above(".mark") is None, "the root itself is not above it"
    (tmp_path / ".mark").mkdir()
    assert files.lies_above(".mark") == os.path.realpath(tmp_path)
    (tmp_path / "x" / ".mark").symlink_to("nowhere")
    assert files.lies_above(".mark") == os.path.realpath(tmp_path / "x")
    files.close()
