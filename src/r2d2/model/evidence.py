"""Evidence: the verdict of a check on one pair of tables, and its reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """Degree of certainty about `child ⊆ parent`."""

    IMPOSSIBLE = "IMPOSSIBLE"  # a reason shows that it does not hold
    POSSIBLE = "POSSIBLE"  # no check has ruled it out yet
    PROVEN = "PROVEN"  # every row was checked


@dataclass(frozen=True, slots=True)
class Evidence:
    """Verdict of a check on one edge, and its reason."""

    check: str
    verdict: Verdict
    because: str  # one sentence, for the person who reviews the deletion
    reasons: tuple[str, ...] = ()  # all of them, if there are several
