"""`make experiments`: how often a child that lacks a share ε of its rows slips through the sample (section 4.3).

The theorem: with ln(1/δ) / ln(1/(1−ε)) rows drawn uniformly, at most with probability δ. Here a child with exactly
that share planted is pruned again and again, with another key and thus another sample each time, by the product's own
step, sampling and look-up; only Spark is left out. The planted rows differ from the parent's in the least selective
column only, which a comparison in the few most selective columns does not see. Neither such a comparison nor rows drawn
from few places of the child earn the bound.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.results import save
from r2d2.steps.prune_by_content import rows_to_sample
from tests.support.theorem2 import CHILD_FILES, CHILD_ROWS, SELECTED, WIDTHS, clopper_pearson, count_misses, plant

CASES = ((0.26, 0.05), (0.1, 0.05), (0.1, 0.01), (0.05, 0.05), (0.02, 0.1), (0.01, 0.05))
TRIALS = 2_000
CONFIDENCE = 0.999


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS
    rows = [row for width in WIDTHS for case in CASES for row in experiment(width, *case, trials)]
    save("theorem2", rows, data=f"a child of {CHILD_ROWS:,} rows in {CHILD_FILES} files, {trials:,} samples each")


def experiment(width: int, epsilon: float, delta: float, trials: int) -> Iterator[dict[str, Any]]:
    """Miss rates of one planted share: with the guarantee, with the cheap sample, and drawn from one place."""
    wanted = rows_to_sample(missing_share=epsilon, risk=delta)
    with tempfile.TemporaryDirectory(prefix="r2d2-theorem-") as folder:
        planted = plant(Path(folder), epsilon, width)
        for drawn in ("uniformly", "from two places", "from one place"):
            tried = trials if drawn == "uniformly" else trials // 10  # a gross failure needs no fine measure
            misses = count_misses(planted, rows=wanted, trials=tried, drawn=drawn)
            low, high = clopper_pearson(misses, tried, CONFIDENCE)
            row = {
                "columns": width,
                "compared in": min(width, SELECTED) if drawn == "from two places" else width,
                "ε": epsilon,
                "δ": delta,
                "rows": wanted,
                "drawn": drawn,
                "trials": tried,
                "missed": misses,
                "miss rate": misses / tried,
                f"{CONFIDENCE:.1%} from": low,
                "to": high,
                "in theory": (1 - epsilon) ** wanted if drawn == "uniformly" else "",
                "bound": "holds" if low <= delta else "broken",
            }
            print(row, flush=True)
            yield row


if __name__ == "__main__":
    main()
