"""File layer on a POSIX file system. Every path is walked from the root, folder by folder, without following links."""

from __future__ import annotations

import ctypes
import errno
import os
import stat as modes
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from r2d2.safety.errors import Busy, Refused
from r2d2.safety.files import FILE, FOLDER, OTHER, Stat, refuse_remote
from r2d2.safety.paths import QUARANTINE, SAFETY, WORK, folder_of
from r2d2.safety.posix_versions import version_of

_CHUNK = 1 << 20
_NO_REPLACE = 1  # RENAME_NOREPLACE
_PATIENCE_SECONDS = 0.1  # a check of the lock takes far less
# By name, so that the module can be imported where these are missing; `refuse_no_posix` refuses such a system.
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINKS
_FILE_FLAGS = _NO_LINKS | getattr(os, "O_NONBLOCK", 0)  # non-blocking: the name may have become a pipe

RenameNew = Callable[[int, str, int, str], None]


class PosixFiles:
    """Files below a folder that is opened once and held open, so that it cannot be replaced by another."""

    def __init__(self, root: str, *, rename_new: RenameNew | None = None) -> None:
        refuse_remote(root)
        refuse_no_posix()
        self._root = os.path.realpath(root)
        try:
            self._descriptor = os.open(self._root, _FOLDER_FLAGS)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise Refused(f"there is no folder {root}", hint="give the root of a lake") from error
        except OSError as error:
            hint = "run it as a user who may read the lake"
            raise Refused(f"the folder {root} cannot be opened ({error.strerror})", hint=hint) from error
        self._rename_new = rename_new or rename_new_by_kernel

    @property
    def root(self) -> str:
        """The absolute path of the root."""
        return self._root

    def lies_above(self, name: str) -> str | None:
        """The nearest folder above the root that has an entry of this name, or None."""
        folder = self._root
        while (above := os.path.dirname(folder)) != folder:
            folder = above
            if os.path.lexists(os.path.join(folder, name)):
                return folder
        return None

    def close(self) -> None:
        """Close the root folder."""
        os.close(self._descriptor)

    def stat(self, path: str) -> Stat | None:
        """The path's Stat; None if nothing is there."""
        try:
            with self._above(path) as (folder, name):
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):  # the latter also if a folder above has become a link
            return None
        return _as_stat(found)

    def names(self, path: str) -> list[str]:
        """The entries of a folder, sorted."""
        with self._folder(path) as descriptor:
            return sorted(os.listdir(descriptor))

    def chunks(self, path: str) -> Iterator[bytes]:
        """The content of a regular file, piece by piece."""
        descriptor = self._open(path, os.O_RDONLY)
        try:
            while piece := os.read(descriptor, _CHUNK):
                yield piece
        finally:
            os.close(descriptor)

    def create(self, path: str, content: Iterable[bytes]) -> None:
        """Write a file that must not exist yet."""
        descriptor = self._open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            for piece in content:
                _write_all(descriptor, piece)
        finally:
            os.close(descriptor)

    def append(self, path: str, content: bytes) -> None:
        """Write all of *content* at the end of a file that exists."""
        descriptor = self._open(path, os.O_WRONLY | os.O_APPEND)
        try:
            _write_all(descriptor, content)
        finally:
            os.close(descriptor)

    def truncate(self, path: str, size_bytes: int) -> None:
        """Cut a file off."""
        descriptor = self._open(path, os.O_WRONLY)
        try:
            os.ftruncate(descriptor, size_bytes)
        finally:
            os.close(descriptor)

    def sync(self, path: str) -> None:
        """Make a file's content, or a folder's entries, survive a loss of power."""
        with self._above(path) as (folder, name):
            descriptor = os.open(name, os.O_RDONLY | _FILE_FLAGS, dir_fd=folder)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def make_folder(self, path: str) -> None:
        """Make one folder that must not exist yet."""
        mode = 0o700 if path in (SAFETY, QUARANTINE, WORK) else 0o777  # private tables stay private there
        with self._above(path) as (folder, name):
            os.mkdir(name, mode, dir_fd=folder)

    def open_as(self, path: str, like: Sequence[str]) -> None:
        """Give group and others the access that they have to all of *like*; the owner's access stays."""
        opened = [self._open_to(one) for one in like]
        group, wanted = opened[0]
        for other, also in opened[1:]:
            wanted &= also if other == group else also & 0o707
        with self._above(path) as (folder, name):
            descriptor = os.open(name, os.O_RDONLY | _FILE_FLAGS, dir_fd=folder)
        try:
            if os.fstat(descriptor).st_gid != group:
                try:
                    os.fchown(descriptor, -1, group)
                except PermissionError:  # the file keeps its own group, which gets no access
                    wanted &= 0o707
            os.fchmod(descriptor, os.fstat(descriptor).st_mode & 0o700 | wanted)
        finally:
            os.close(descriptor)

    def _open_to(self, path: str) -> tuple[int, int]:
        """The group of a path, and the access of group and others to it, through every folder above."""
        with self._above(path) as (folder, name):
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        wanted = found.st_mode & 0o077
        parts = path.split("/")[:-1]
        for depth in range(len(parts) + 1):
            with self._folder("/".join(parts[:depth])) as descriptor:
                above = os.fstat(descriptor).st_mode
            wanted &= (0o070 if above & 0o010 else 0) | (0o007 if above & 0o001 else 0)
        return found.st_gid, wanted

    def move(self, source: str, target: str) -> None:
        """Rename a file or folder, atomically refusing a target that exists."""
        rename = rename_aside if target.startswith(f"{SAFETY}/") else self._rename_new
        with self._above(source) as (from_folder, name), self._above(target) as (to_folder, new_name):
            rename(from_folder, name, to_folder, new_name)

    def unlink(self, path: str) -> None:
        """Remove one file."""
        with self._above(path) as (folder, name):
            os.unlink(name, dir_fd=folder)

    def remove_folder(self, path: str) -> None:
        """Remove one empty folder."""
        with self._above(path) as (folder, name):
            os.rmdir(name, dir_fd=folder)

    @contextmanager
    def lock(self, path: str, note: str) -> Iterator[None]:
        """Hold the lock file; the system releases it when the process ends, in whatever way."""
        descriptor = self._open(path, os.O_RDWR | os.O_CREAT)
        try:
            if not _try_lock(descriptor):
                raise Busy(f"{self._root} is in use by {_read_note(descriptor)}", hint="wait until it has ended")
            self._refuse_another_lock_file(path, descriptor)
            os.ftruncate(descriptor, 0)
            _write_all(descriptor, note.encode())
            yield
        finally:
            os.close(descriptor)

    def lock_holder(self, path: str) -> str | None:
        """The note of the process that holds the lock; None if it is free."""
        try:
            descriptor = self._open(path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            return _read_note(descriptor) if _is_locked(descriptor) else None
        finally:
            os.close(descriptor)

    def _refuse_another_lock_file(self, path: str, descriptor: int) -> None:
        """Refuse a lock file that was removed or replaced since it was opened: its lock keeps nobody out."""
        there = self.stat(path)
        if there is None or there.version.identity != version_of(os.fstat(descriptor)).identity:
            raise Busy(f"the lock file of {self._root} was replaced", hint="try again, and leave that file alone")

    def _open(self, path: str, flags: int) -> int:
        with self._above(path) as (folder, name):
            descriptor = os.open(name, flags | _FILE_FLAGS, 0o644, dir_fd=folder)
        if not modes.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "is not a regular file", path)
        return descriptor

    @contextmanager
    def _folder(self, path: str) -> Iterator[int]:
        """A descriptor of the folder at *path*, reached without following a link."""
        descriptor = os.open(".", _FOLDER_FLAGS, dir_fd=self._descriptor)
        try:
            for part in path.split("/") if path else ():
                below = os.open(part, _FOLDER_FLAGS, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = below
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def _above(self, path: str) -> Iterator[tuple[int, str]]:
        """The folder that holds *path*, and its name there."""
        if ".." in path.split("/"):
            raise OSError(errno.EINVAL, "leads upwards", path)
        with self._folder(folder_of(path)) as descriptor:
            yield descriptor, path.rpartition("/")[2] or "."


def refuse_no_posix() -> None:
    """Refuse a system that cannot open files relative to an open folder without following links."""
    if not hasattr(os, "O_NOFOLLOW") or os.open not in os.supports_dir_fd:
        raise Refused("deleting and restoring is not supported on this system yet", hint="use Linux or macOS")


def rename_new_by_kernel(from_folder: int, name: str, to_folder: int, new_name: str) -> None:
    """Rename with renameat2 and RENAME_NOREPLACE; fall back to plain POSIX where kernel or file system lacks it."""
    if not _rename_by_kernel(from_folder, name, to_folder, new_name):
        rename_new_by_link(from_folder, name, to_folder, new_name)


def rename_aside(from_folder: int, name: str, to_folder: int, new_name: str) -> None:
    """Rename into the safety folder, which is locked, to a name that only this process makes.

    The file that has the old name at that instant is the one moved. With `link` and `unlink`, a file that a writer
    puts there in between would be lost.
    """
    if not _rename_by_kernel(from_folder, name, to_folder, new_name):
        _rename_after_a_look(from_folder, name, to_folder, new_name)


def rename_new_by_link(from_folder: int, name: str, to_folder: int, new_name: str) -> None:
    """Rename with plain POSIX calls: others may create the new name, and only this process touches the old one.

    A file gets its new name by `link`, which never replaces, and then loses the old one; a crash in between leaves
    one file under two names, which recovery handles. A folder is renamed: POSIX lets that replace an empty folder only.
    """
    if modes.S_ISDIR(os.stat(name, dir_fd=from_folder, follow_symlinks=False).st_mode):
        _rename_after_a_look(from_folder, name, to_folder, new_name)
        return
    os.link(name, new_name, src_dir_fd=from_folder, dst_dir_fd=to_folder, follow_symlinks=False)
    os.unlink(name, dir_fd=from_folder)


def _rename_by_kernel(from_folder: int, name: str, to_folder: int, new_name: str) -> bool:
    """Rename with renameat2; False if kernel or file system lacks the call."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    if call(from_folder, os.fsencode(name), to_folder, os.fsencode(new_name), _NO_REPLACE) == 0:
        return True
    code = ctypes.get_errno()
    if code not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        raise OSError(code, os.strerror(code), name, None, new_name)
    return False


def _rename_after_a_look(from_folder: int, name: str, to_folder: int, new_name: str) -> None:
    with suppress(FileNotFoundError):
        os.stat(new_name, dir_fd=to_folder, follow_symlinks=False)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new_name)
    os.rename(name, new_name, src_dir_fd=from_folder, dst_dir_fd=to_folder)


def _as_stat(found: os.stat_result) -> Stat:
    kind = FILE if modes.S_ISREG(found.st_mode) else FOLDER if modes.S_ISDIR(found.st_mode) else OTHER
    newest_ns = max(found.st_mtime_ns, found.st_ctime_ns)
    return Stat(kind, found.st_size, version_of(found), newest_ns, str(found.st_dev), found.st_nlink)


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def _try_lock(descriptor: int) -> bool:
    """Take the lock. Retry for a short time: a process that only checks the lock shares it for an instant."""
    import fcntl

    until = time.monotonic() + _PATIENCE_SECONDS
    while not _flock(descriptor, fcntl.LOCK_EX):
        if time.monotonic() >= until:
            return False
        time.sleep(_PATIENCE_SECONDS / 20)
    return True


def _is_locked(descriptor: int) -> bool:
    """Whether a command holds the lock. Checks take a shared lock, so that they do not disturb one another."""

    import fcntl

    return not _flock(descriptor, fcntl.LOCK_SH)


def _flock(descriptor: int, how: int) -> bool:
    import fcntl

    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read_note(descriptor: int) -> str:
    return os.pread(descriptor, 200, 0).decode("utf-8", "replace") or "another process"
