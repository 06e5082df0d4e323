"""Questions about the content of tables, each answered by one Spark job over slices."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from r2d2.engine.compare_tables import GROUP_BYTES, Pair, compare_tables
from r2d2.engine.hash_slices import Hashing, Piece, fingerprint_bundle, look_up_bundle, sample_bundle
from r2d2.engine.tasks import run_tasks
from r2d2.model.schema import Column, Token

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BYTES_PER_TASK = 128 << 20
CHEAP_PLACES = 2  # slices of a child that a sample without guarantee is drawn from


@dataclass(frozen=True, slots=True)
class TableContent:
    """Where the rows of a table are, and its columns."""

    slices: tuple[Mapping[str, Any], ...]
    columns: tuple[Column, ...]

    @property
    def tokens(self) -> list[Token]:
        """All its columns."""
        return [column.token for column in self.columns]

    @property
    def rows(self) -> int:
        """All its rows."""
        return sum(part["rows"] for part in self.slices)


@dataclass
class Content:
    """The tables of a lake, and the session that reads them. `failed` fills with tables that cannot be read."""

    spark: Callable[[], SparkSession]
    tables: Sequence[TableContent]
    hashing: Hashing
    failed: dict[int, tuple[str, str]] = field(default_factory=dict)

    def fingerprint(self, tables: Sequence[int]) -> dict[int, str]:
        """An order-free fingerprint of all rows of each table."""
        pieces = [
            {"table": table, "slice": part, "tokens": self.tables[table].tokens}
            for table in tables
            for part in self.tables[table].slices
        ]
        totals: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
        for answer in self._run(pieces, fingerprint_bundle):
            for place, name in enumerate(("rows", "first", "second")):
                totals[answer["table"]][place] = (totals[answer["table"]][place] + answer[name]) % 2**64
        return {table: str(totals[table]) for table in tables if table not in self.failed}

    def take_samples(self, probes: Sequence[Any]) -> dict[int, list[str]]:
        """Hashes of sampled rows of each child, over the columns of its probe (see steps.prune_by_content)."""
        pieces = [piece for probe in probes for piece in self._sample_pieces(probe)]
        samples: defaultdict[int, list[str]] = defaultdict(list)
        for answer in self._run(pieces, sample_bundle):
            samples[answer["table"]].extend(answer["rows"])
        return {table: rows for table, rows in samples.items() if table not in self.failed}

    def _sample_pieces(self, probe: Any) -> Iterator[Piece]:
        """Random places of a child, slice by slice; the same for the same table and key."""
        content = self.tables[probe.child]
        rng = random.Random(f"{self.hashing.key.hex()} {content.slices[0]['path']} {content.rows}")
        parts = list(content.slices)
        if not probe.uniform and len(parts) > CHEAP_PLACES:
            parts = rng.choices(parts, weights=[part["rows"] for part in parts], k=CHEAP_PLACES)
        chosen = rng.choices(range(len(parts)), weights=[part["rows"] for part in parts], k=probe.rows)
        tokens = [column.token for column in probe.columns]
        for number in sorted(set(chosen)):
            places = [rng.randrange(parts[number]["rows"]) for _ in range(chosen.count(number))]
            yield {"table": probe.child, "slice": parts[number], "tokens": tokens, "places": sorted(set(places))}

    def look_for_rows(
        self, parents_of: Mapping[int, Sequence[int]], probes: Mapping[int, Any], samples: Mapping[int, Sequence[str]]
    ) -> dict[Pair, set[str]]:
        """For each (parent, child): which of the child's sampled rows are in the parent."""
        wanted = self._wanted(parents_of, probes, samples)
        pieces = [
            {"table": parent, "slice": part, "wanted": [[n, t, sorted(texts)] for n, t, texts, _ in asked.values()]}
            for parent, asked in wanted.items()
            for part in self.tables[parent].slices
        ]
        found: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
        for answer in self._run(pieces, look_up_bundle):
            found[answer["table"], answer["projection"]].update(answer["found"])
        return {
            (parent, child): found[parent, number]
            for parent, asked in wanted.items()
            if parent not in self.failed  # what was not read rules nothing out
            for number, _, _, children in asked.values()
            for child in children
        }

    def _wanted(
        self, parents_of: Mapping[int, Sequence[int]], probes: Mapping[int, Any], samples: Mapping[int, Sequence[str]]
    ) -> dict[int, dict[tuple[Token, ...], tuple[int, Any, set[str], list[int]]]]:
        """By parent and projection: the hashes looked for, and the children they come from."""
        wanted: defaultdict[int, dict[Any, Any]] = defaultdict(dict)
        for child, parents in parents_of.items():
            tokens = tuple(column.token for column in probes[child].columns)
            for parent in parents:
                asked = wanted[parent].setdefault(tokens, (len(wanted[parent]), tokens, set(), []))
                asked[2].update(samples[child])
                asked[3].append(child)
        return wanted

    def compare(self, pairs: Sequence[Pair]) -> dict[Pair, tuple[int, int]]:
        """Missing rows and missing copies of each (parent, child), exactly."""
        readable = [pair for pair in pairs if not self.failed.keys() & set(pair)]
        if not readable:
            return {}
        projections, edges = self._projections(readable)
        pieces = [
            {"table": table, "slice": part, "projections": asked}
            for table, asked in projections.items()
            for part in self.tables[table].slices
        ]
        counts, notes = compare_tables(self.spark(), pieces, edges=edges, hashing=self.hashing, per_task=BYTES_PER_TASK)
        self._note(json.loads(note) for note in notes)
        return {pair: missing for pair, missing in counts.items() if not self.failed.keys() & set(pair)}

    def _projections(self, pairs: Sequence[Pair]) -> tuple[dict[int, list[list[Any]]], dict[int, list[Pair]]]:
        """Per table what to hash it by, and per projection its edges. A projection is a child's set of columns."""
        numbers: dict[tuple[Token, ...], int] = {}
        edges: defaultdict[int, list[Pair]] = defaultdict(list)
        members: defaultdict[int, set[int]] = defaultdict(set)
        for parent, child in pairs:
            number = numbers.setdefault(tuple(self.tables[child].tokens), len(numbers))
            edges[number].append((parent, child))
            members[number].update((parent, child))
        asked: defaultdict[int, list[list[Any]]] = defaultdict(list)
        for tokens, number in numbers.items():
            hashes_bytes = 16 * sum(self.tables[table].rows for table in members[number])
            for table in members[number]:
                asked[table].append([number, tokens, 1 + hashes_bytes // GROUP_BYTES])
        return asked, dict(edges)

    def _run(self, pieces: Sequence[Piece], task: Callable[..., Iterable[str]]) -> Iterator[dict[str, Any]]:
        """The answers of a job; failures go into `failed`."""
        if not pieces:
            return
        answers = run_tasks(
            self.spark(),
            pieces,
            task=partial(task, hashing=self.hashing),
            weight=lambda piece: piece["slice"]["bytes"] + 1,
            per_task=BYTES_PER_TASK,
        )
        for answer in map(json.loads, answers):
            if "failed" in answer:
                self._note([answer])
            else:
                yield answer

    def _note(self, failures: Iterable[Mapping[str, Any]]) -> None:
        for failure in failures:
            self.failed.setdefault(failure["table"], (failure["failed"], failure["hint"]))
