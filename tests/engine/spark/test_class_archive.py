"""Spark's classes are kept from one start to the next, in a folder nobody else can write to, or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from r2d2.engine.spark import class_archive
from r2d2.engine.spark.class_archive import archive_options, cache_folder

COMPLETE = 0xF00BABA8.to_bytes(4, sys.byteorder) + bytes(100)


@pytest.fixture
def java(tmp_path: Path) -> Path:
    path = tmp_path / "java"
    path.write_text("a java")
    return path


def written_by(options: list[str]) -> Path:
    (written,) = [option.partition("=")[2] for option in options if option.startswith("-XX:ArchiveClassesAtExit=")]
    return Path(written)


def uses(archive: Path, options: list[str]) -> bool:
    return f"-XX:SharedArchiveFile={archive}" in options


def test_the_first_start_writes_an_archive_and_the_next_one_uses_it(java: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    archive = written_by(archive_options(java, folder=cache))
    archive.write_bytes(COMPLETE)
    assert uses(archive, archive_options(java, folder=cache))
    assert list(cache.iterdir()) == [archive]


@pytest.mark.parametrize("content", [b"", bytes(100)], ids=["nothing yet", "no head yet"])
def test_an_archive_that_is_being_written_or_was_broken_off_is_not_used(
    content: bytes, java: Path, tmp_path: Path
) -> None:
    archive = written_by(archive_options(java, folder=tmp_path / "cache"))
    archive.write_bytes(content)
    assert written_by(archive_options(java, folder=tmp_path / "cache")) == archive


def test_another_java_has_another_archive(java: Path, tmp_path: Path) -> None:
    archive = written_by(archive_options(java, folder=tmp_path / "cache"))
    archive.write_bytes(COMPLETE)
    java.write_text("another java")
    assert written_by(archive_options(java, folder=tmp_path / "cache")) != archive


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
def test_java_writes_the_archive_starts_with_it_and_survives_a_damaged_one(tmp_path: Path) -> None:
    start = (
        "from r2d2.engine.spark.session import open_session; from r2d2.settings import Settings\n"
        "with open_session(Settings(master='local[1]', driver_memory='1g')) as spark: print(spark.range(3).count())"
    )
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}

    def started() -> str:
        done = subprocess.run(
            [sys.executable, "-c", start], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    assert started().strip() == "3"
    (archive,) = _eventually(lambda: [p for p in tmp_path.glob("r2d2/*.jsa") if p.read_bytes()[:4] == COMPLETE[:4]])
    written = archive.stat()
    assert started().strip() == "3"  # and not a word from Java
    assert list((tmp_path / "r2d2").iterdir()) == [archive] and archive.stat().st_mtime_ns == written.st_mtime_ns
    archive.chmod(0o600)
    os.truncate(archive, 1_000_000)  # Java crashes on it
    assert started().strip() == "3"
    assert not archive.exists()


def _eventually(look: Callable[[], list[Path]], *, seconds: float = 120) -> list[Path]:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := look():
            return list(found)
        time.sleep(0.5)
    raise AssertionError("it never came")
