"""Questions about the content of tables, each answered by one Spark job over slices."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from r2d2.engine.rows.compare_tables import GROUP_BYTES, Pair, compare_tables
from r2d2.engine.rows.hash_slices import Hashing, Piece, SampledRow, look_up_bundle, sample_bundle
from r2d2.engine.run.tasks import run_tasks
from r2d2.engine.run.udp_progress import Address, listen
from r2d2.engine.spark.failures import worker_died
from r2d2.model.containment import Missing
from r2d2.model.progress import Reading
from r2d2.model.schema import Column, Token

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Answer = TypeVar("Answer")
BYTES_PER_TASK = 48 << 20  # a task reads slice by slice; starting one costs some milliseconds here, 0.1 s on a cluster
FindDeadly = Callable[[Sequence[Mapping[str, Any]]], Mapping[int, str]]  # slices that kill who reads them, and how
CHEAP_PLACES = 2  # slices of a child that a sample without guarantee is drawn from


@dataclass(frozen=True, slots=True)
class TableContent:
    """Where the rows of a table are, and its columns."""

    slices: tuple[Mapping[str, Any], ...]
    columns: tuple[Column, ...]
    location: str = ""  # its folder, or its one file

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
    find_deadly: FindDeadly
    failed: dict[int, tuple[str, str]] = field(default_factory=dict)
    report: Callable[[Reading], None] | None = None  # told how far the running job is
    bytes_read: int = 0  # of the slices that jobs were given, each as often as it was

    def take_samples(self, probes: Sequence[Any]) -> dict[int, list[SampledRow]]:
        """Sampled rows of each child, over the columns of its probe (see steps.prune_by_content)."""
        pieces = [piece for probe in probes for piece in self._sample_pieces(probe)]
        samples: defaultdict[int, list[SampledRow]] = defaultdict(list)
        for answer in self._run(pieces, sample_bundle):
            samples[answer["table"]].extend(tuple(row) for row in answer["rows"])
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
        self,
        parents_of: Mapping[int, Sequence[int]],
        probes: Mapping[int, Any],
        samples: Mapping[int, Sequence[SampledRow]],
    ) -> dict[Pair, set[str]]:
        """For each (parent, child): which of the child's sampled rows are in the parent."""
        wanted = self._wanted(parents_of, probes, samples)
        pieces = [
            {"table": parent, "slice": part, "wanted": [[n, t, sorted(rows)] for n, t, rows, _ in asked.values()]}
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
        self,
        parents_of: Mapping[int, Sequence[int]],
        probes: Mapping[int, Any],
        samples: Mapping[int, Sequence[SampledRow]],
    ) -> dict[int, dict[tuple[Token, ...], tuple[int, Any, set[SampledRow], list[int]]]]:
        """By parent and projection: the hashes looked for, and the children they come from."""
        wanted: defaultdict[int, dict[Any, Any]] = defaultdict(dict)
        for child, parents in parents_of.items():
            tokens = tuple(column.token for column in probes[child].columns)
            for parent in parents:
                asked = wanted[parent].setdefault(tokens, (len(wanted[parent]), tokens, set(), []))
                asked[2].update(samples[child])
                asked[3].append(child)
        return wanted

    def compare(
        self, pairs: Sequence[Pair], *, at_no_cost: Iterable[Pair] = (), fingerprint: Iterable[int] = ()
    ) -> tuple[dict[Pair, Missing], dict[int, str]]:
        """Missing rows and copies of each (parent, child), exactly, and order-free fingerprints of some tables.

        Pairs in *at_no_cost* are counted too where the hashes they need are there anyway.
        """
        prints = {table for table in fingerprint if table not in self.failed}
        projections, edges = self._projections([pair for pair in pairs if self._readable(pair)], at_no_cost)
        pieces: Sequence[Piece] = [
            {
                "table": table,
                "slice": part,
                "projections": projections.get(table, []),
                "whole": self.tables[table].tokens if table in prints else [],
            }
            for table in sorted(projections.keys() | prints)
            for part in self.tables[table].slices
        ]
        if not pieces:
            return {}, {}
        counts, notes = self._survive(pieces, lambda alive, report_to: self.count_missing(alive, edges, report_to))
        totals: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
        for note in map(json.loads, notes):
            if "failed" in note:
                self._note([note])
            else:
                for place, name in enumerate(("rows", "first", "second")):
                    totals[note["table"]][place] = (totals[note["table"]][place] + note[name]) % 2**64
        readable = {pair: missing for pair, missing in counts.items() if self._readable(pair)}
        return readable, {table: str(total) for table, total in totals.items() if table not in self.failed}

    def read_through(self, files: Mapping[int, Collection[str]], tokens: Mapping[int, Collection[Token]]) -> None:
        """Read some columns of some files of each table, to see that they can be read."""
        pieces = [
            {"table": table, "slice": part, "projections": [], "whole": sorted(tokens[table])}
            for table, paths in files.items()
            for part in self.tables[table].slices
            if part["path"] in paths and part["rows"] and tokens[table]
        ]
        if pieces:
            _, notes = self._survive(pieces, lambda alive, report_to: self.count_missing(alive, {}, report_to))
            self._note(note for note in map(json.loads, notes) if "failed" in note)

    def _readable(self, pair: Pair) -> bool:
        return not self.failed.keys() & set(pair)

    def _projections(
        self, pairs: Iterable[Pair], at_no_cost: Iterable[Pair]
    ) -> tuple[dict[int, list[list[Any]]], dict[int, list[Pair]]]:
        """Per table what to hash it by, and per projection its edges. A projection is a child's set of columns."""
        numbers: dict[tuple[Token, ...], int] = {}
        edges: defaultdict[int, list[Pair]] = defaultdict(list)
        members: defaultdict[int, set[int]] = defaultdict(set)
        for parent, child in pairs:
            number = numbers.setdefault(tuple(self.tables[child].tokens), len(numbers))
            edges[number].append((parent, child))
            members[number].update((parent, child))
        for pair in at_no_cost:
            there = numbers.get(tuple(self.tables[pair[1]].tokens))
            if there is not None and members[there].issuperset(pair):
                edges[there].append(pair)
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
        answers = self._survive(
            pieces,
            lambda alive, report_to: self.run_pieces(alive, partial(task, hashing=self.hashing), report_to),
        )
        for answer in map(json.loads, answers):
            if "failed" in answer:
                self._note([answer])
            else:
                yield answer

    def run_pieces(
        self, pieces: Sequence[Piece], task: Callable[[Any], Iterable[str]], report_to: Address | None
    ) -> list[str]:
        """The answers of a task about some pieces; here, by Spark."""
        return run_tasks(
            self.spark(),
            pieces,
            task=task,
            weight=lambda piece: piece["slice"]["bytes"] + 1,
            per_task=BYTES_PER_TASK,
            report_to=report_to,
        )

    def count_missing(
        self, pieces: Sequence[Piece], edges: Mapping[int, Sequence[Pair]], report_to: Address | None
    ) -> tuple[dict[Pair, Missing], list[str]]:
        """What is missing over each edge, and notes; here, by Spark."""
        return compare_tables(
            self.spark(), pieces, edges=edges, hashing=self.hashing, per_task=BYTES_PER_TASK, report_to=report_to
        )

    def _survive(self, pieces: Sequence[Piece], job: Callable[[Sequence[Piece], Address | None], Answer]) -> Answer:
        """Run a job; if a damaged file kills its worker, find the file, and run the job without that table."""
        self.bytes_read += _bytes_of(pieces)
        try:
            return self._watched(pieces, job)
        except Exception as error:
            if not worker_died(error):
                raise
            deadly = self.find_deadly([piece["slice"] for piece in pieces])
            if not deadly:
                raise
            self._note({"table": pieces[n]["table"], "failed": why, "hint": ""} for n, why in deadly.items())
            return self._watched([piece for piece in pieces if piece["table"] not in self.failed], job)

    def _watched(self, pieces: Sequence[Piece], job: Callable[[Sequence[Piece], Address | None], Answer]) -> Answer:
        """Run a job; meanwhile, say how far it is if someone asked."""
        report = self.report
        if report is None:
            return job(pieces, None)
        size = _bytes_of(pieces)
        report(Reading(0, len(pieces), 0, size))
        with listen(self.spark(), lambda done: report(Reading(done.pieces, len(pieces), done.bytes, size))) as address:
            return job(pieces, address)

    def _note(self, failures: Iterable[Mapping[str, Any]]) -> None:
        for failure in failures:
            self.failed.setdefault(failure["table"], (failure["failed"], failure["hint"]))


def _bytes_of(pieces: Iterable[Piece]) -> int:
    return sum(piece["slice"]["bytes"] for piece in pieces)
