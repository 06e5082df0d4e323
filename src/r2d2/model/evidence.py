"""What a check said about one pair of tables, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How much is known of `child ⊆ parent`."""

    IMPOSSIBLE = "IMPOSSIBLE"  # a reason shows that it does not hold
    POSSIBLE = "POSSIBLE"  # nothing spoke against it yet
    PROVEN = "PROVEN"  # every row was checked


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a check said about one edge, and why."""

    check: str
    verdict: Verdict
    because: str  # one sentence, for the person who reviews the deletion
