"""Records of the journal. Each is written before (…Intended) or after the effect that it names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from r2d2.model.rebuild import Content
from r2d2.safety import codec
from r2d2.safety.errors import Refused
from r2d2.safety.plan import Entry, refuse_malformed_entry

FORMAT = 2


@dataclass(frozen=True, slots=True)
class Opened:
    """The first record: a journal of this format begins."""

    format: int
    at: int  # seconds since 1970, as in every record


@dataclass(frozen=True, slots=True)
class PlanStarted:
    """The plan is used from here on, whatever its outcome."""

    plan_id: str
    plan_sha256: str
    approved_by: str
    tables: int
    at: int


@dataclass(frozen=True, slots=True)
class MoveIntended:
    """A table is about to be moved to quarantine."""

    slot: str
    plan_id: str
    entry: Entry
    at: int


@dataclass(frozen=True, slots=True)
class MoveUndone:
    """The table is back, or was never moved."""

    slot: str
    because: str
    at: int


@dataclass(frozen=True, slots=True)
class Committed:
    """The recipe was run and its result compared with the table in quarantine, by values. Its parent is pinned."""

    slot: str
    content: Content
    seconds: float
    at: int


@dataclass(frozen=True, slots=True)
class CommitWithdrawn:
    """A write was noticed right after the commit: the table goes back."""

    slot: str
    because: str
    at: int


@dataclass(frozen=True, slots=True)
class Drilled:
    """The table was rebuilt on trial."""

    slot: str
    because: str  # '' if it came out exact
    seconds: float
    at: int


@dataclass(frozen=True, slots=True)
class PurgeIntended:
    """The files in quarantine are about to be unlinked."""

    slot: str
    at: int


@dataclass(frozen=True, slots=True)
class PurgeUndone:
    """Nothing had been unlinked, and nothing will be."""

    slot: str
    at: int


@dataclass(frozen=True, slots=True)
class Purged:
    """The listed files are gone from quarantine; only the recipe is left of the table."""

    slot: str
    at: int


@dataclass(frozen=True, slots=True)
class RestoreIntended:
    """A verified table is about to be moved to its old place."""

    slot: str
    source: str  # below the root: in quarantine, or in the work folder
    identity: str  # of the moved file or folder, to tell it from another at its place
    at: int


@dataclass(frozen=True, slots=True)
class RestoreUndone:
    """The table was not moved and stays where it was."""

    slot: str
    because: str
    at: int


@dataclass(frozen=True, slots=True)
class Restored:
    """The table is at its old place again; its parent is no longer pinned by it."""

    slot: str
    at: int


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Somebody gave the table up: its parent changed and no copy is left."""

    slot: str
    approved_by: str
    because: str
    at: int


Later = (
    MoveUndone
    | Committed
    | CommitWithdrawn
    | Drilled
    | PurgeIntended
    | PurgeUndone
    | Purged
    | RestoreIntended
    | RestoreUndone
    | Restored
    | Forgotten
)
"""Records about a table that may follow its `MoveIntended`."""

Record = Opened | PlanStarted | MoveIntended | Later
KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Opened, PlanStarted, MoveIntended, MoveUndone, Committed, CommitWithdrawn, Drilled,
        PurgeIntended, PurgeUndone, Purged, RestoreIntended, RestoreUndone, Restored, Forgotten,
    )
}  # fmt: skip


def encode_record(record: Record) -> dict[str, Any]:
    """A record as JSON values."""
    return {"kind": type(record).__name__, **codec.encode(record)}


def decode_record(value: Any) -> Record:
    """The record from the output of `encode_record`; names and paths in it are checked again (HAZARDS 31)."""
    if type(value) is not dict or value.get("kind") not in KINDS:
        raise codec.Malformed("is of no known kind")
    kind = KINDS[value["kind"]]
    record: Record = codec.decode(kind, {name: field for name, field in value.items() if name != "kind"})
    if isinstance(record, MoveIntended):
        try:
            refuse_malformed_entry(record.entry)
        except Refused as error:
            raise codec.Malformed(str(error)) from error
    return record
