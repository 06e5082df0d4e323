"""A file layer that counts its calls and lets a test act before each: kill, fail, or write behind our back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CALLS = (
    "stat", "names", "chunks", "create", "append", "truncate", "sync",
    "make_folder", "open_as", "move", "unlink", "remove_folder", "lock", "lock_holder", "lies_above",
)  # fmt: skip


class Killed(BaseException):
    """The process is gone: nothing after this is done, no `except Exception` sees it."""


class Hooked:
    def __init__(self, files: Any, before: Callable[[int, str, tuple[Any, ...]], None]) -> None:
        self.files, self.before, self.calls = files, before, 0

    @property
    def root(self) -> str:
        return self.files.root

    def __getattr__(self, name: str) -> Any:
        assert name in CALLS, name

        def call(*given: Any) -> Any:
            self.calls += 1
            self.before(self.calls, name, given)
            return getattr(self.files, name)(*given)

        return call


def count(files: Any) -> Hooked:
    return Hooked(files, lambda number, name, given: None)


def kill_at(files: Any, number: int, *, torn: float | None = None) -> Hooked:
    """Killed right before call *number*, or half-way through it if that writes; dead for good from then on."""

    def before(now: int, name: str, given: tuple[Any, ...]) -> None:
        if now == number and name == "append" and torn is not None:
            path, content = given
            files.append(path, content[: int(len(content) * torn)])
        if now >= number:
            raise Killed(f"{name}{given[:1]}")

    return Hooked(files, before)


def fail_at(files: Any, number: int, code: int, *, torn: bool = False, ever_after: bool = False) -> Hooked:
    """Call *number* fails with an errno; with *torn* a write is half done before it does."""
    import os

    def before(now: int, name: str, given: tuple[Any, ...]) -> None:
        if now == number or (ever_after and now > number):
            if name == "append" and torn:
                files.append(given[0], given[1][: len(given[1]) // 2])
            raise OSError(code, os.strerror(code), given[0] if given else None)

    return Hooked(files, before)


def act_at(files: Any, number: int, act: Callable[[], None]) -> Hooked:
    """Somebody else does something right before call *number*."""

    def before(now: int, name: str, given: tuple[Any, ...]) -> None:
        if now == number:
            act()

    return Hooked(files, before)
