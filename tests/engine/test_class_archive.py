"""Spark's classes are kept from one start to the next, in a folder nobody else can write to, or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from r2d2.engine import class_archive
from r2d2.engine.class_archive import archive_options, cache_folder

COMPLETE = 0xF00BABA8.to_bytes(4, sys.byteorder) + bytes(100)


@pytest.fixture
def java(tmp_path: Path) -> Path:
    path = tmp_path / "java"
    path.write_text("a java")
    return path


def part_of(options: list[str]) -> Path:
    (written,) = [option.partition("=")[2] for option in options if option.startswith("-XX:ArchiveClassesAtExit=")]
    return Path(written)


def leave(part: Path, content: bytes, *, seconds_ago: float) -> None:
    part.write_bytes(content)
    then = time.time() - seconds_ago
    os.utime(part, (then, then))


def uses_an_archive(options: list[str]) -> bool:
    return any(option.startswith("-XX:SharedArchiveFile=") for option in options)


def test_the_first_start_writes_an_archive_and_the_next_one_uses_it(java: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    leave(part_of(archive_options(java, folder=cache)), COMPLETE, seconds_ago=100)
    options = archive_options(java, folder=cache)
    assert uses_an_archive(options)
    assert [path.suffix for path in cache.iterdir()] == [".jsa"]


def test_an_archive_that_is_being_written_is_left_alone(java: Path, tmp_path: Path) -> None:
    part = part_of(archive_options(java, folder=tmp_path / "cache"))
    leave(part, COMPLETE, seconds_ago=1)
    assert archive_options(java, folder=tmp_path / "cache") == []
    assert part.exists()


def test_an_archive_that_was_broken_off_is_written_anew(java: Path, tmp_path: Path) -> None:
    part = part_of(archive_options(java, folder=tmp_path / "cache"))
    leave(part, bytes(100), seconds_ago=100)
    assert part_of(archive_options(java, folder=tmp_path / "cache"))
    assert not part.exists()


def test_another_java_has_another_archive(java: Path, tmp_path: Path) -> None:
    part = part_of(archive_options(java, folder=tmp_path / "cache"))
    java.write_text("another java")
    assert part_of(archive_options(java, folder=tmp_path / "cache")).name != part.name


def test_a_folder_that_others_can_write_to_is_not_used(java: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    assert archive_options(java, folder=cache) == []


def test_without_a_place_to_write_to_spark_starts_as_always(java: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert archive_options(java, folder=tmp_path / "file" / "cache") == []


def test_a_disk_that_is_nearly_full_is_left_alone(java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_archive, "_ROOM_BYTES", 1 << 70)
    assert archive_options(java, folder=tmp_path / "cache") == []


def test_the_users_cache_folder_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "r2d2"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "r2d2"


@pytest.mark.spark
def test_java_writes_the_archive_and_starts_with_it(tmp_path: Path) -> None:
    start = (
        "from r2d2.engine.session import open_session; from r2d2.settings import Settings\n"
        "with open_session(Settings(master='local[1]', driver_memory='1g')) as spark: print(spark.range(3).count())"
    )
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}

    def started() -> str:
        done = subprocess.run(
            [sys.executable, "-c", start], env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    assert started().strip() == "3"
    (part,) = _eventually(lambda: [p for p in tmp_path.glob("r2d2/*.part") if p.read_bytes()[:4] == COMPLETE[:4]])
    os.utime(part, (1, 1))
    assert started().strip() == "3"  # and not a word from Java
    assert [path.suffix for path in (tmp_path / "r2d2").iterdir()] == [".jsa"]


def _eventually(look: Callable[[], list[Path]], *, seconds: float = 120) -> list[Path]:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := look():
            return list(found)
        time.sleep(0.5)
    raise AssertionError("it never came")
