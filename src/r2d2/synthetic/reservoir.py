"""Uniform sample of a stream of unknown length."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa


class Reservoir:
    """Sample of *rows* rows of all that were added, each with the same probability (Vitter's algorithm R).

    The sample does not depend on the batches of the stream.
    """

    def __init__(self, *, rows: int, seed: int) -> None:
        self.rows = rows
        self.seen = 0
        self._random = np.random.default_rng(seed)
        self._held: pa.Table | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Offer every row of the batch."""
        places = self.seen + np.arange(batch.num_rows)
        drawn = (self._random.random(batch.num_rows) * (places + 1)).astype(np.int64)
        slots = np.where(places < self.rows, places, drawn)
        self.seen += batch.num_rows
        taken = np.flatnonzero(slots < self.rows)
        if len(taken):
            self._replace(slots[taken], pa.Table.from_batches([batch.take(pa.array(taken))]))

    def sample(self) -> pa.Table | None:
        """The sampled rows; None if no row was added."""
        return self._held

    def _replace(self, slots: npt.NDArray[np.int64], fresh: pa.Table) -> None:
        held_rows = 0 if self._held is None else self._held.num_rows
        index = np.arange(max(held_rows, int(slots.max()) + 1))
        # A slot hit twice keeps the later row; NumPy does not promise which one an assignment would keep.
        last_slots, from_the_end = np.unique(slots[::-1], return_index=True)
        index[last_slots] = held_rows + len(slots) - 1 - from_the_end
        both = fresh if self._held is None else pa.concat_tables([self._held, fresh])
        self._held = both.combine_chunks().take(pa.array(index))
