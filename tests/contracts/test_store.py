"""The contract of stores, held by every store: a new one is added to STORES."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.stores.contract import FILE, FOLDER, Store
from r2d2.stores.local import LocalStore

CONTENT = bytes(range(200))


@dataclass(frozen=True)
class Stored:
    """A store, and how a test writes to it."""

    store: Store
    folder: str
    write: Callable[[str, bytes], None]
    remove: Callable[[str], None]

    def path(self, name: str) -> str:
        """The path of a file in the folder."""
        return f"{self.folder}/{name}"


def local(folder: Path) -> Stored:
    def write(path: str, content: bytes) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content)

    return Stored(LocalStore(), str(folder), write, lambda path: Path(path).unlink())


STORES = {"local": local}


@pytest.fixture(params=STORES)
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Stored:
    """A store with two files and a folder in its folder."""
    one = STORES[request.param](tmp_path)
    one.write(one.path("b.bin"), CONTENT)
    one.write(one.path("a b=é.bin"), b"")
    one.write(one.path("inner/c.bin"), b"c")
    return one


def test_a_folder_is_listed_by_name_with_kinds(stored: Stored) -> None:
    entries = stored.store.list(stored.folder)
    assert [(entry.name, entry.kind) for entry in entries] == [("a b=é.bin", FILE), ("b.bin", FILE), ("inner", FOLDER)]
    for entry in entries:
        if entry.stored is not None:
            assert entry.stored == stored.store.stat(stored.path(entry.name))


def test_a_file_has_a_size_a_time_and_a_version(stored: Stored) -> None:
    found = stored.store.stat(stored.path("b.bin"))
    assert found.size_bytes == len(CONTENT) and found.modified_ns > 10**18
    assert found.version.identity and found.version.state
    assert found.version == stored.store.version(stored.path("b.bin"))


def test_two_files_have_two_identities(stored: Stored) -> None:
    one, other = (stored.store.version(stored.path(name)) for name in ("b.bin", "inner/c.bin"))
    assert one is not None and other is not None and one.identity != other.identity


def test_another_content_is_another_version_of_the_same_file_and_a_gone_one_has_none(stored: Stored) -> None:
    before = stored.store.version(stored.path("b.bin"))
    stored.write(stored.path("b.bin"), CONTENT + b"!")
    after = stored.store.version(stored.path("b.bin"))
    assert before and after and before != after and before.identity == after.identity
    stored.remove(stored.path("b.bin"))
    assert stored.store.version(stored.path("b.bin")) is None


def test_a_file_can_be_read_at_any_place(stored: Stored) -> None:
    with stored.store.open(stored.path("b.bin")) as file:
        assert file.size() == len(CONTENT)
        assert file.read() == CONTENT
        file.seek(150)
        assert file.read(10) == CONTENT[150:160]


@given(st.lists(st.tuples(st.integers(0, 250), st.integers(0, 250)), max_size=4), st.integers(1, 300))
def test_ranges_are_what_the_file_has_there(stored: Stored, wanted: list[tuple[int, int]], behind: int) -> None:
    found = stored.store.ranges(stored.path("b.bin"), [*wanted, (-behind, behind)])
    assert list(found) == [CONTENT[start : start + length] for start, length in wanted] + [CONTENT[-behind:]]


def test_a_file_that_is_not_there_is_an_os_error(stored: Stored) -> None:
    store = stored.store
    for ask in (store.list, store.stat, store.open, lambda path: store.ranges(path, [(0, 4)])):
        with pytest.raises(OSError):
            ask(stored.path("gone"))  # type: ignore[operator]


def test_it_travels_to_workers(stored: Stored) -> None:
    there = pickle.loads(pickle.dumps(stored.store))
    assert there == stored.store and there.version(stored.path("b.bin")) == stored.store.version(stored.path("b.bin"))


def test_a_local_path_can_be_opened_by_any_library(stored: Stored) -> None:
    assert stored.store.is_local == Path(stored.path("b.bin")).is_file()
