"""What is kept of hashing is found again, stays within its bound, and is never more than a convenience."""

from __future__ import annotations

import errno
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from r2d2.engine.rows.cache import Pack, mark_of
from r2d2.model.kept import read_kept
from r2d2.model.table import DataFile, Table
from r2d2.model.versions import FileVersion
from r2d2.state import hashes
from r2d2.state.hashes import KeptHashes

KEY = bytes(32)
LONG_AGO = 1_700_000_000_000_000_000
SIZE = 10**9  # of each file


def table(*inodes: int) -> Table:
    files = tuple(DataFile(f"/lake/t/{inode}", SIZE, LONG_AGO, FileVersion(*file(inode))) for inode in inodes)
    return Table("t", "parquet", "/lake/t", files)


def file(inode: int, *, settled: bool = True) -> list[Any]:
    return [f"7:{inode}", "as written", settled]


def books(folder: Path, most_bytes: int = 10_000, *, lake_bytes: int = 10**9, reading: bool = True) -> KeptHashes:
    found = KeptHashes(folder, most_bytes=most_bytes, mark=mark_of(KEY), reading=reading)
    found.begin(lake_bytes=lake_bytes)
    return found


def keep(kept: KeptHashes, **contents: bytes) -> list[str]:
    """Keep some things, all in one file, made from files 1, 2 …; the names of those there was room for."""
    granted = []
    with Pack(kept.folder, KEY) as pack:
        for number, (name, content) in enumerate(contents.items(), 1):
            if kept.grant(name, len(content), file(number)):
                place = pack.write(name, content)
                assert place
                kept.add(place)
                granted.append(name)
    return granted


def found(kept: KeptHashes, *names: str) -> dict[str, bytes | None]:
    places = {name: kept.find(name) for name in names}
    return {name: read_kept(place) if place else None for name, place in places.items()}


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.hashes"))


def test_no_more_is_kept_than_a_fifth_of_what_is_left_of_the_lake(tmp_path: Path) -> None:
    kept = books(tmp_path / "hashes")
    assert keep(kept, a=b"x" * 100, b=b"y" * 50) == ["a", "b"]
    kept.save([table(1, 2)])
    assert size_of(tmp_path / "hashes") == 150
    small = DataFile("/lake/t/3", 300, LONG_AGO, FileVersion(*file(3)))
    again = books(tmp_path / "hashes")
    assert again.grant("c", 50, small.version) and again.find("a")
    with Pack(again.folder, KEY) as pack:
        again.add(pack.write("c", b"z" * 50))  # type: ignore[arg-type]
    again.save([replace(table(), files=(small,))])
    assert found(books(tmp_path / "hashes"), "a", "c") == {"a": None, "c": b"z" * 50}
    books(tmp_path / "hashes").save([replace(table(), files=(replace(small, size_bytes=200),))])
    assert size_of(tmp_path / "hashes") == 0


def test_what_is_kept_is_found_by_the_next_run(tmp_path: Path) -> None:
    kept = books(tmp_path / "hashes")
    assert keep(kept, a=b"x" * 100, b=b"y" * 50) == ["a", "b"]
    kept.save([table(1, 2)])
    assert found(books(tmp_path / "hashes"), "a", "b", "c") == {"a": b"x" * 100, "b": b"y" * 50, "c": None}


def test_nothing_counts_until_the_books_are_written(tmp_path: Path) -> None:
    """However many runs fail; the next one that may write removes what they have left."""
    for _ in range(5):
        kept = books(tmp_path / "hashes")
        keep(kept, a=b"x" * 100)  # and the process dies
    assert size_of(tmp_path / "hashes") == 100
    reader = KeptHashes(tmp_path / "hashes", most_bytes=1000)
    assert found(reader, "a") == {"a": None} and size_of(tmp_path / "hashes") == 100
    books(tmp_path / "hashes")
    assert size_of(tmp_path / "hashes") == 0


def test_a_scan_from_scratch_finds_what_it_made_itself_and_forgets_the_rest(tmp_path: Path) -> None:
    kept = books(tmp_path / "hashes")
    keep(kept, a=b"x" * 100, b=b"y" * 100)
    kept.save([table(1, 2)])
    again = books(tmp_path / "hashes", reading=False)
    assert not again.finds and found(again, "a", "b") == {"a": None, "b": None}
    keep(again, a=b"z" * 100)
    assert found(again, "a") == {"a": b"z" * 100}
    again.save([table(1, 2)])
    assert found(books(tmp_path / "hashes"), "a", "b") == {"a": b"z" * 100, "b": None}
    assert size_of(tmp_path / "hashes") == 100


@pytest.mark.slow
def test_whatever_bit_of_the_books_flips_nothing_is_taken_for_something_else(tmp_path: Path) -> None:
    contents = {f"n{number}": bytes([number]) * 40 for number in range(12)}
    kept = books(tmp_path / "hashes")
    keep(kept, **contents)
    kept.save([table(*range(1, 13))])
    index = tmp_path / "hashes" / "index.parquet"
    good = index.read_bytes()
    seen = Counter[bool]()
    for place in range(len(good)):
        for bit in range(8):
            index.write_bytes(good[:place] + bytes([good[place] ^ 1 << bit]) + good[place + 1 :])
            after = found(KeptHashes(tmp_path / "hashes", most_bytes=1000), *contents)
            assert all(content in (None, contents[name]) for name, content in after.items()), (place, bit)
            seen[None in after.values()] += 1
    assert seen[True] > len(good)  # most flips are noticed, and none does harm


def test_what_was_made_from_files_that_are_gone_goes(tmp_path: Path) -> None:
    kept = books(tmp_path / "hashes")
    keep(kept, a=b"x" * 100, b=b"y" * 100)
    kept.save([table(2)])
    assert found(books(tmp_path / "hashes"), "a", "b") == {"a": None, "b": b"y" * 100}


def test_there_is_room_for_so_much_and_what_was_not_used_makes_room(tmp_path: Path) -> None:
    kept = books(tmp_path / "hashes", 250)
    assert keep(kept, a=b"a" * 100, b=b"b" * 100, c=b"c" * 100) == ["a", "b"]
    kept.save([table(1, 2, 3)])
    kept = books(tmp_path / "hashes", 250)
    assert kept.find("b")
    assert keep(kept, c=b"c" * 100, d=b"d" * 100) == ["c"], "what was used in this run stays"
    kept.save([table(1, 2, 3)])
    assert found(books(tmp_path / "hashes", 250), "a", "b", "c") == {"a": None, "b": b"b" * 100, "c": b"c" * 100}
    assert size_of(tmp_path / "hashes") <= 250, "the file that held two things was written anew with one"


@pytest.mark.parametrize("trouble", ["none", "damaged", "unreadable"])
def test_the_bound_is_one_on_disk(tmp_path: Path, trouble: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often things come and go; what is damaged, or cannot be read, is not carried along."""
    for turn in range(12):
        kept = books(tmp_path / "hashes", 1000)
        for number in range(turn, turn + 3):
            kept.find(f"n{number}")
        keep(kept, **{f"n{number}": bytes([number]) * 130 for number in range(turn, turn + 5)})
        first = min((tmp_path / "hashes").glob("*.hashes"))
        if trouble == "damaged":
            first.write_bytes(b"?" + first.read_bytes()[1:])
        with monkeypatch.context() as patch:
            if trouble == "unreadable":
                patch.setattr("r2d2.model.kept.open", failing_for(str(first)), raising=False)
            kept.save([table(*range(1, 20))])
        assert size_of(tmp_path / "hashes") <= 1000
        for name, content in found(books(tmp_path / "hashes", 1000), *(f"n{n}" for n in range(20))).items():
            assert content in (None, bytes([int(name[1:])]) * 130)


def failing_for(path: str) -> Any:
    def open_or_fail(name: str, *given: Any, **named: Any) -> Any:
        if name == path:
            raise OSError(errno.EIO, "input/output error")
        return open(name, *given, **named)

    return open_or_fail


def test_many_small_files_become_one(tmp_path: Path) -> None:
    kept = books(tmp_path / "hashes")
    for number in range(hashes.MOST_FILES + 5):
        keep(kept, **{f"n{number}": b"%03d" % number})
    kept.save([table(1)])
    assert len(list((tmp_path / "hashes").glob("*.hashes"))) <= hashes.MOST_FILES
    names = [f"n{number}" for number in range(hashes.MOST_FILES + 5)]
    assert found(books(tmp_path / "hashes"), *names) == {name: b"%03d" % int(name[1:]) for name in names}


def test_less_room_than_before_is_noticed(tmp_path: Path) -> None:
    kept = books(tmp_path / "hashes")
    keep(kept, a=b"x" * 100, b=b"y" * 100)
    kept.save([table(1, 2)])
    assert not books(tmp_path / "hashes").is_too_large
    less = KeptHashes(tmp_path / "hashes", most_bytes=120, mark=mark_of(KEY))
    assert less.is_too_large
    less.save([table(1, 2)])
    assert size_of(tmp_path / "hashes") == 100 and not less.is_too_large
    assert not KeptHashes(tmp_path / "nothing", most_bytes=0).is_too_large


def test_the_folder_is_its_owner_s(tmp_path: Path) -> None:
    assert books(tmp_path / "hashes").folder == str(tmp_path / "hashes")
    assert (tmp_path / "hashes").stat().st_mode & 0o77 == 0


def test_it_never_takes_more_than_a_share_of_the_lake(tmp_path: Path) -> None:
    kept = books(tmp_path / "hashes", lake_bytes=int(100 / hashes.MOST_OF_LAKE))
    assert keep(kept, a=b"a" * 60, b=b"b" * 60) == ["a"]


def test_of_a_file_that_may_still_change_nothing_is_kept(tmp_path: Path) -> None:
    kept = books(tmp_path / "hashes")
    assert not kept.grant("a", 1, file(1, settled=False))
    assert kept.grant("b", 1, file(1)) and not kept.grant("b", 1, file(1)), "once is enough"


def test_with_no_room_asked_for_everything_goes(tmp_path: Path) -> None:
    kept = books(tmp_path / "hashes")
    keep(kept, a=b"x" * 100)
    kept.save([table(1)])
    off = books(tmp_path / "hashes", 0)
    assert found(off, "a") == {"a": None} and keep(off, b=b"y") == []
    off.save([table(1)])
    assert size_of(tmp_path / "hashes") == 0


def test_what_is_lost_is_not_looked_for_again(tmp_path: Path) -> None:
    kept = books(tmp_path / "hashes")
    keep(kept, a=b"x" * 100, b=b"y" * 100)
    kept.save([table(1, 2)])
    kept = books(tmp_path / "hashes")
    kept.lose(["a"])
    assert kept.find("a") is None and kept.find("b")
    assert keep(kept, a=b"z" * 100) == ["a"]
    kept.save([table(1, 2)])
    assert found(books(tmp_path / "hashes"), "a", "b") == {"a": b"z" * 100, "b": b"y" * 100}


def test_a_folder_that_is_not_this_state_s_is_not_written_to(tmp_path: Path) -> None:
    """As on a worker of a cluster that has a folder of that name, but not the driver's."""
    with Pack(str(tmp_path), KEY) as pack:
        assert pack.write("x", b"x") is None
    (tmp_path / mark_of(b"1" * 32)).touch()
    with Pack(str(tmp_path), KEY) as pack:
        assert pack.write("x", b"x") is None
    assert list(tmp_path.glob("*.hashes")) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_keeps_nothing_and_breaks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = books(tmp_path / "hashes")
    with Pack(kept.folder, KEY) as pack:
        monkeypatch.setattr(pack, "_file", open("/dev/full", "wb", buffering=0))  # noqa: SIM115
        assert pack.write("x", b"x") is None and pack.write("y", b"y") is None


def test_a_reader_writes_nothing(tmp_path: Path) -> None:
    reader = KeptHashes(tmp_path / "hashes", most_bytes=1000)
    reader.begin(lake_bytes=10**9)
    assert reader.folder == "" and not reader.grant("a", 1, file(1)) and not (tmp_path / "hashes").exists()
