"""What was tried, counted, so that a run can say it."""

from __future__ import annotations

from collections import Counter

TALLY: Counter[str] = Counter()
FUZZED: Counter[str] = Counter()
