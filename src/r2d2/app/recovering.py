"""What a crash left half-way in a lake is put right before anybody looks at the lake."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from r2d2.errors import R2D2Error
from r2d2.safety.files import Files
from r2d2.safety.locked_lake import posix_files, read_registry
from r2d2.safety.paths import SAFETY
from r2d2.safety.recovery import Recovered, open_lake
from r2d2.safety.registry import SETTLED

_LOG = logging.getLogger("r2d2")


def recover_lakes(roots: Sequence[str]) -> None:
    """Settle what is half-way under *roots*, and say so. Nothing is written where nothing is."""
    for root in roots:
        for one in _recovered(root):
            _LOG.warning("r2d2: recovered %s: %s", one.table, f"{one.did or 'left as it is'}, since {one.because}")


def _recovered(root: str) -> tuple[Recovered, ...]:
    try:
        with posix_files(root) as files:
            return recover_files(files)
    except (R2D2Error, OSError):  # no lake of ours, or one that cannot be opened now: the command says what that means
        return ()


def _is_half_way(files: Files) -> bool:
    there = files.stat(SAFETY) is not None
    return there and any(slot.state not in SETTLED for slot in read_registry(files).active)


def recover_files(files: Files) -> tuple[Recovered, ...]:
    """Lock the lake, recover it, let it go again. Where nothing is half-way, who may only read need no more."""
    if not _is_half_way(files):
        return ()
    with open_lake(files) as (_, recovered):
        return recovered
