"""The classes that Spark loads, kept from one start to the next: the JVM then starts in half the time.

Java writes such an archive as it ends, after r2d2 has ended; the next start uses it. Whether it fits (the same Java,
the same jars) Java itself checks, and does without one that does not.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from pathlib import Path

_ROOM_BYTES = 2 << 30  # an archive takes about 150 MB; a disk that is nearly full is left alone
_SETTLED_SECONDS = 60.0  # an archive not written to for so long is complete, or will never be
_MAGIC = tuple(number.to_bytes(4, sys.byteorder) for number in (0xF00BABA2, 0xF00BABA8))


def archive_options(java: Path, *, folder: Path | None = None) -> list[str]:
    """What tells Java to use the archive of this Java and Spark, or to write it; nothing where neither is possible."""
    if not hasattr(os, "getuid"):  # Windows tells less about whose a folder is
        return []
    folder = folder or cache_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _options(folder / _name(java)) if _is_ours(folder) else []
    except OSError:  # a home that cannot be written to: Spark starts as it always did
        return []


def _options(archive: Path) -> list[str]:
    _adopt(archive)
    quiet = "-Xlog:disable"  # nothing that Java says about it reaches the terminal
    if archive.exists():
        return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", quiet]
    if _being_written(archive) or shutil.disk_usage(archive.parent).free < _ROOM_BYTES:
        return []
    return [f"-XX:ArchiveClassesAtExit={archive}.{os.getpid()}.part", quiet]


def cache_folder() -> Path:
    """Where the user's programs keep what they can make again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "r2d2"


def _adopt(archive: Path) -> None:
    """Take the archive that an earlier run has left, if it is complete; remove what is not."""
    for part in archive.parent.glob(f"{archive.name}.*.part"):
        if time.time() - part.stat().st_mtime < _SETTLED_SECONDS:
            continue
        if _is_complete(part) and not archive.exists():
            os.replace(part, archive)
        else:
            part.unlink(missing_ok=True)


def _is_complete(part: Path) -> bool:
    """Java writes the head of the file last."""
    with part.open("rb") as file:
        return file.read(4) in _MAGIC


def _being_written(archive: Path) -> bool:
    return any(archive.parent.glob(f"{archive.name}.*.part"))


def _is_ours(folder: Path) -> bool:
    """An archive is code: nobody else may have a hand in it."""
    status = folder.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def _name(java: Path) -> str:
    """Another Java or another Spark, another archive."""
    import pyspark

    status = java.stat()
    stamp = f"{java} {status.st_size} {status.st_mtime_ns} {pyspark.__file__} {pyspark.__version__}"
    return f"spark-{hashlib.sha256(stamp.encode()).hexdigest()[:16]}.jsa"
