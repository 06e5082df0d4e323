"""The state folder: finished runs, a pointer to the newest, a key, a lock.

A run is written beside the others under a temporary name, renamed when complete, and only then pointed to. If it is
interrupted at any point, the state stays as it was before.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from r2d2.errors import StateError
from r2d2.model.scan import Scan
from r2d2.state.tables import read_scan, write_scan

FORMAT = 5
KEY_BYTES = 32
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
_UNFINISHED = ".unfinished-"


class StateStore:
    """One state folder."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._runs = self.folder / "runs"
        self._pointer = self.folder / "current"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder for writing; a second writer is refused at once.

        A folder that was made for this is removed again if nothing was saved to it.
        """
        self._check_format()
        made = [folder for folder in (self.folder, *self.folder.absolute().parents) if not folder.exists()]
        with self._writing():
            self.folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)  # it holds values: bounds, constants
            lock = open(self.folder / "lock", "a+")  # noqa: SIM115
        with lock:
            _lock_or_refuse(lock.fileno(), self.folder)
            is_new = not (self.folder / "format.json").exists()
            try:
                self._prepare()
                yield
            finally:
                if is_new and not self._pointer.exists():
                    self._unmake(made)

    def load(self) -> Scan:
        """The newest finished scan."""
        scan = self.load_if_any()
        if scan is None:
            raise StateError(
                f"there is no scan in {self.folder}", hint="run `r2d2 scan LAKE` first, or give --state DIR"
            )
        return scan

    def load_if_any(self) -> Scan | None:
        """The newest finished scan, if there is one."""
        run = self._current()
        return read_scan(self._runs / run) if run else None

    def save(self, scan: Scan, *, keep: int, known: Scan | None = None) -> str:
        """Write *scan* as the newest run, keep the last *keep* runs, return its name. The lock must be held.

        *known* is a run of this folder that shares parts with it.
        """
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-{secrets.token_hex(3)}"
        unfinished = self._runs / (_UNFINISHED + name)
        with self._writing():
            unfinished.mkdir(mode=PRIVATE_FOLDER)
            write_scan(scan, unfinished, known=(known, self._runs / known.run) if known else None)
            unfinished.chmod(self._runs.stat().st_mode & 0o777)  # users with access to the runs can read new ones, too
            for path in unfinished.iterdir():
                _sync(path)
            unfinished.rename(self._runs / name)
            _sync(self._runs)
            _write_atomically(self._pointer, name)
            self._forget_old(name, keep)
        return name

    @property
    def newest(self) -> Path:
        """The folder of the newest finished scan."""
        run = self._current()
        if not run:
            raise StateError(f"there is no scan in {self.folder}", hint="run `r2d2 scan LAKE` first")
        return self._runs / run

    def key(self) -> bytes:
        """The secret key of this state's row hashes."""
        try:
            key = bytes.fromhex((self.folder / "key").read_text("utf-8").strip())
            if len(key) != KEY_BYTES:
                raise ValueError("it has another length")
            return key
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is damaged"
            hint = "only its owner can read the key; scan into a folder of your own with --state DIR"
            raise StateError(f"the key of the state in {self.folder} cannot be read ({why})", hint=hint) from error

    def _prepare(self) -> None:
        """Write the files that every state folder has; under the lock, so that one of two first scans sets the key."""
        self._check_format()
        with self._writing():
            self._runs.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
            if not (self.folder / "key").exists():
                _write_atomically(self.folder / "key", secrets.token_hex(KEY_BYTES), mode=PRIVATE_FILE)
            if not (self.folder / "format.json").exists():
                _write_atomically(self.folder / "format.json", json.dumps({"format": FORMAT}))

    def _unmake(self, made: Sequence[Path]) -> None:
        """Remove the files of `_prepare`, and the folders that were made for them; everything else stays."""
        with suppress(OSError):
            for unfinished in self._runs.glob(f"{_UNFINISHED}*"):
                shutil.rmtree(unfinished)
            if self._runs.is_dir():
                self._runs.rmdir()  # raises if it holds anything else, which ends the removal
            for name in ("format.json.new", "format.json", "key.new", "key", "lock"):
                (self.folder / name).unlink(missing_ok=True)
            for folder in made:
                folder.rmdir()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turn an OSError, such as a full disk, into a StateError that the user can fix."""
        try:
            yield
        except OSError as error:
            raise StateError(
                f"cannot write the state folder {self.folder} ({error.strerror or error})",
                hint="give another with --state DIR",
            ) from error

    def _check_format(self) -> None:
        path = self.folder / "format.json"
        if self.folder.exists() and not self.folder.is_dir():
            raise StateError(
                f"cannot use {self.folder} as state folder: it is a file", hint="give a folder with --state DIR"
            )
        if path.exists():
            try:
                found = json.loads(path.read_text("utf-8"))["format"]
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise StateError(f"{path} is damaged", hint="give another folder with --state DIR") from error
            if found != FORMAT:
                raise StateError(
                    f"the state in {self.folder} is of format {found}; this version writes format {FORMAT}",
                    hint="scan the lake again into a new folder with --state DIR, or use the version that wrote it",
                )
        elif self._holds_other_things():
            raise StateError(f"{self.folder} is not a state folder", hint="give an empty or new one with --state DIR")

    def _holds_other_things(self) -> bool:
        """Whether the folder holds foreign files; a folder with only a lock belongs to a scan that has just begun."""
        names = {path.name for path in self.folder.iterdir()} if self.folder.is_dir() else set()
        return bool(names - {"lock"}) and not (self.folder / "runs").is_dir()  # it is made before the rest

    def _current(self) -> str | None:
        self._check_format()
        try:
            return self._pointer.read_text("utf-8").strip() or None
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise StateError(
                f"{self._pointer} cannot be read ({error})", hint="give another folder with --state DIR"
            ) from error

    def _forget_old(self, newest: str, keep: int) -> None:
        """Remove runs beyond the last *keep*, and leftovers of interrupted ones."""
        finished = sorted(path.name for path in self._runs.iterdir() if not path.name.startswith(_UNFINISHED))
        older = [name for name in finished if name != newest]
        gone = older[: max(0, len(older) - (keep - 1))]
        left_over = [path.name for path in self._runs.iterdir() if path.name.startswith(_UNFINISHED)]
        for name in (*gone, *left_over):
            shutil.rmtree(self._runs / name)


def _lock_or_refuse(descriptor: int, folder: Path) -> None:
    """Take an advisory lock, which the system releases when the process ends, or refuse."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(descriptor), os.stat(folder / "lock")):
            raise FileNotFoundError  # another run has just removed the folder that it made
    except (BlockingIOError, FileNotFoundError) as error:
        raise StateError(
            f"another r2d2 is writing to {folder}", hint="wait for it to end, or give this one its own --state DIR"
        ) from error


def _write_atomically(path: Path, text: str, mode: int = 0o644) -> None:
    temporary = path.with_name(path.name + ".new")
    temporary.unlink(missing_ok=True)  # a leftover of a crash would keep its own mode
    with open(temporary, "w", encoding="utf-8", opener=lambda p, flags: os.open(p, flags, mode)) as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
