"""Archive of the classes that Spark loads: with it the JVM starts in half the time.

Java writes the archive as it ends, after r2d2 has ended, and the next start uses it. Java itself checks that the
archive fits its version and the jars, and does without one that does not (docs/decisions/0022).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path

_ROOM_BYTES = 2 << 30  # an archive takes about 150 MB; none is written to a nearly full disk
_USE = "-XX:SharedArchiveFile="
_MAGIC = tuple(number.to_bytes(4, sys.byteorder) for number in (0xF00BABA2, 0xF00BABA8))


def archive_options(java: Path, *, folder: Path | None = None) -> list[str]:
    """Java options that use the archive of this Java and Spark, or write it; none where neither is possible."""
    if not hasattr(os, "getuid"):  # Windows tells less about the owner of a folder
        return []
    folder = folder or cache_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _options(folder / _name(java)) if _is_ours(folder) else []
    except OSError:  # a home that cannot be written to: Spark starts without an archive
        return []


def _options(archive: Path) -> list[str]:
    quiet = "-Xlog:disable"  # keeps Java's remarks about the archive off the terminal
    if _is_complete(archive):
        return [f"{_USE}{archive}", "-Xshare:auto", quiet]
    if shutil.disk_usage(archive.parent).free < _ROOM_BYTES:
        return []
    return [
        f"-XX:ArchiveClassesAtExit={archive}",
        quiet,
    ]  # Java replaces a file of that name


def discard_archive(options: list[str]) -> bool:
    """Remove the archive that these options use; return whether they use one."""
    used = [Path(option.removeprefix(_USE)) for option in options if option.startswith(_USE)]
    for archive in used:
        archive.unlink(missing_ok=True)
    return bool(used)


def cache_folder() -> Path:
    """Folder for files that r2d2 can make again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "r2d2"


def _is_complete(archive: Path) -> bool:
    """Check the head of the file, which Java writes last."""
    try:
        with archive.open("rb") as file:
            return file.read(4) in _MAGIC
    except FileNotFoundError:
        return False


def _is_ours(folder: Path) -> bool:
    """Check that nobody else can write to the folder: an archive is code."""
    status = folder.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def _name(java: Path) -> str:
    """File name that differs for another Java or another Spark."""
    import pyspark

    status = java.stat()
    stamp = f"{java} {status.st_size} {status.st_mtime_ns} {pyspark.__file__} {pyspark.__version__}"
    return f"spark-{hashlib.sha256(stamp.encode()).hexdigest()[:16]}.jsa"
