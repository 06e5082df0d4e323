"""Check and sync parents before they hold the only copy of rows."""

from __future__ import annotations

from r2d2.safety.plan import TableSeen
from r2d2.safety.ports import Quarantine
from r2d2.safety.snapshots import Examined, Look


class ParentsOnDisk:
    """Check that parents are unchanged to the byte, and sync them to disk.

    A parent of many children is hashed and synced once, and again only if its snapshot has changed since.
    """

    def __init__(self, quarantine: Quarantine) -> None:
        self._quarantine = quarantine
        self._examined = Examined(quarantine, alone=False)
        self._synced: dict[TableSeen, Look] = {}
        self._failed: dict[TableSeen, OSError] = {}

    def look(self, parent: TableSeen) -> Look:
        """The parent's snapshot, once it is found unchanged and is synced."""
        look = self._examined.look(parent)
        if self._synced.get(parent) != look:
            self._sync(parent)
            self._synced[parent] = look
        return look

    def _sync(self, parent: TableSeen) -> None:
        """Sync a parent; repeat an earlier failure, since the system reports a failed sync only once."""

        if parent in self._failed:
            raise self._failed[parent]
        try:
            self._quarantine.make_durable(parent)
        except OSError as error:
            self._failed[parent] = error
            raise
