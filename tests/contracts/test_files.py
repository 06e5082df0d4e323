"""The contract of r2d2.safety.files.Files: every implementation answers alike, call by call, errors included.

The kills, races and losses of power of tests/safety run on a file system in memory. That is evidence about a disk only if
the two agree, which is tested here. Another implementation is one more line in `open_files`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.safety.errors import Busy
from r2d2.safety.files import Files
from r2d2.safety.locked_lake import posix_files
from tests.safety.memory import MemoryFiles

PATHS = st.sampled_from(["a", "b", "a/c", "a/d", "a/c/e", "b/c"])
CONTENT = st.binary(max_size=5)


class Call(NamedTuple):
    """A verb with its arguments."""

    verb: str
    arguments: tuple[object, ...]


CALLS = st.one_of(
    st.builds(lambda path, content: Call("create", (path, (content, b"!"))), PATHS, CONTENT),
    st.builds(lambda path, content: Call("append", (path, content)), PATHS, CONTENT),
    st.builds(lambda path, size: Call("truncate", (path, size)), PATHS, st.integers(0, 3)),
    st.builds(lambda path, target: Call("move", (path, target)), PATHS, PATHS),
    *(
        st.builds(lambda path, verb=verb: Call(verb, (path,)), PATHS)
        for verb in ("make_folder", "make_folder", "unlink", "remove_folder", "sync", "names", "chunks", "stat")
    ),
)


@contextmanager
def open_files() -> Iterator[dict[str, Files]]:
    """An empty lake of each kind."""
    with tempfile.TemporaryDirectory() as folder, posix_files(folder) as on_disk:
        yield {"disk": on_disk, "memory": MemoryFiles()}


@pytest.fixture(params=["disk", "memory"])
def files(request: pytest.FixtureRequest) -> Iterator[Files]:
    with open_files() as all_kinds:
        yield all_kinds[request.param]


def answer(files: Files, call: Call) -> object:
    """What a caller can tell: the result, or the kind of error."""
    verb: Callable[..., object] = getattr(files, call.verb)
    try:
        found = verb(*call.arguments)
        if call.verb == "chunks":
            return b"".join(found)  # type: ignore[arg-type]
        return (found.kind, found.size_bytes if found.kind == "file" else 0) if call.verb == "stat" and found else found  # type: ignore[attr-defined]
    except OSError as error:
        return type(error)


def tree(files: Files, folder: str = "") -> dict[str, bytes | None]:
    """Everything below a folder: the content of files, None for folders."""
    found: dict[str, bytes | None] = {}
    for name in files.names(folder):
        path = f"{folder}/{name}" if folder else name
        stat = files.stat(path)
        assert stat is not None
        found[path] = b"".join(files.chunks(path)) if stat.kind == "file" else None
        if stat.kind == "folder":
            found |= tree(files, path)
    return found


def is_into_itself(call: Call) -> bool:
    """No command moves a folder into itself: locations of tables and places in quarantine are never one above another."""
    return call.verb == "move" and f"{call.arguments[1]}/".startswith(f"{call.arguments[0]}/")


@settings(max_examples=300)
@given(st.lists(CALLS.filter(lambda call: not is_into_itself(call)), max_size=25))
def test_all_kinds_answer_alike(calls: list[Call]) -> None:
    with open_files() as all_kinds:
        for call in calls:
            answers = {kind: answer(files, call) for kind, files in all_kinds.items()}
            assert len(set(map(repr, answers.values()))) == 1, (call, answers)
        assert len({repr(sorted(tree(files).items())) for files in all_kinds.values()}) == 1


def test_a_move_replaces_nothing(files: Files) -> None:
    files.create("one", [b"1"])
    files.create("two", [b"2"])
    with pytest.raises(FileExistsError):
        files.move("one", "two")
    assert tree(files) == {"one": b"1", "two": b"2"}


def test_a_move_keeps_the_identity_and_a_new_file_has_its_own(files: Files) -> None:
    files.create("one", [b"1"])
    before = files.stat("one")
    files.move("one", "two")
    files.create("one", [b"1"])
    moved, new = files.stat("two"), files.stat("one")
    assert before and moved and new
    assert moved.version.identity == before.version.identity != new.version.identity


def test_a_write_changes_the_version(files: Files) -> None:
    files.create("one", [b"1"])
    before = files.stat("one")
    files.append("one", b"2")
    after = files.stat("one")
    assert before and after and before.version != after.version and before.version.identity == after.version.identity


def test_a_lock_is_held_once_and_its_holder_is_named(files: Files) -> None:
    with files.lock("lock", "somebody"):
        assert files.lock_holder("lock") == "somebody"
        with pytest.raises(Busy, match="somebody"), files.lock("lock", "another"):
            raise AssertionError("both hold it")
    assert files.lock_holder("lock") is None
    with files.lock("lock", "another"):
        assert files.lock_holder("lock") == "another"
