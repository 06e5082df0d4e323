"""Containment as a policy: how much of a child its parent must hold for an edge to stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Missing(NamedTuple):
    """Rows that the child of an edge has and the parent lacks, copies counted."""

    rows: int = 0  # rows that are nowhere in the parent
    copies: int = 0  # rows beyond the number that the parent has of each; never fewer than `rows`


@dataclass(frozen=True)
class Containment:
    """Policy that decides whether an edge holds, and which shortcuts to that decision are sound."""

    counts_copies: bool  # the parent must hold each row as often as the child
    is_transitive: bool = True  # a chain of edges that hold proves the edge from its first to its last table
    one_witness_refutes: bool = True  # a single row that the parent lacks rules the edge out

    def holds(self, missing: Missing, *, rows: int | None) -> bool:
        """Decide for a child of so many *rows* (None: unknown), given what the parent lacks."""
        return (missing.copies if self.counts_copies else missing.rows) == 0


EXACT_SET = Containment(counts_copies=False)
EXACT_BAG = Containment(counts_copies=True)
