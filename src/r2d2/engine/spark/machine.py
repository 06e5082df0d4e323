"""The memory of this machine, or of the container that this process runs in."""

from __future__ import annotations

import os
from pathlib import Path

# Version 2 and version 1 of the kernel's control groups, as a container sees its own.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory_bytes() -> int | None:
    """Memory that this process can have: the machine's, or the container's if that is less; None if unknown."""
    known = [size for size in (_physical(), *map(_limit, _LIMITS)) if size]
    return min(known, default=None)


def address_space_limit() -> int | None:
    """Limit on this process's address space (`ulimit -v`) in bytes; None if unlimited."""

    try:
        import resource
    except ImportError:  # Windows
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def _physical() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def _limit(path: str) -> int | None:
    """Bytes that a control group allows; a group without a limit says `max`, or a number beyond any machine."""
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return None
