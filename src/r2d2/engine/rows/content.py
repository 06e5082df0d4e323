"""Questions about the content of tables, each answered by tasks over slices that an executor carries out."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from r2d2.engine.rows.asked_edges import Ints, share_projections
from r2d2.engine.rows.choose_rows import Chosen, choose_rows
from r2d2.engine.rows.compare_tables import Compared, comparing, summed
from r2d2.engine.rows.hash_slices import Hashing, locating, looking_up, sampling
from r2d2.engine.rows.same_bytes import Groups, digest_work, digesting, equal_tables, of_same_shape
from r2d2.engine.rows.table_content import TableContent, known_rows
from r2d2.engine.run.contract import Executor, ReaderDied, Task, last_try
from r2d2.model.counted import counted as in_words
from r2d2.model.progress import Progress, silent, through
from r2d2.model.schema import Column, Token
from r2d2.model.table import Problem
from r2d2.model.work import (
    Digested,
    DigestWork,
    Failed,
    Found,
    HashWork,
    LocateWork,
    LookUpWork,
    Sampled,
    SampledRow,
    SampleWork,
    ShippedSlice,
    SliceWork,
)

Pair = tuple[int, int]  # parent, child
Answer = TypeVar("Answer")
Item = TypeVar("Item", SampleWork, LookUpWork, HashWork, DigestWork)
FindDeadly = Callable[[Sequence[ShippedSlice]], Mapping[int, str]]  # slices that kill whoever reads them, and how
CHEAP_PLACES = 2  # slices of a child that a sample without guarantee is drawn from

NO_PAIRS = np.empty(0, np.int64)
NOT_COMPARED = Compared(NO_PAIRS, NO_PAIRS, NO_PAIRS)


class Probe(Protocol):
    """Rows of a child to look for; see steps.prune_by_content."""

    @property
    def child(self) -> int:
        """The table."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that rows are compared in."""

    @property
    def rows(self) -> int:
        """How many rows to draw."""

    @property
    def uniform(self) -> bool:
        """Whether they are drawn from all rows alike."""


@dataclass(slots=True)
class _Asked:
    """The rows that a parent is asked for under one projection, and the children they come from."""

    number: int
    rows: set[SampledRow] = field(default_factory=set)
    children: list[int] = field(default_factory=list)


class Looked(NamedTuple):
    """Rows of a child's sample, by their hashes; see steps.prune_by_content.Found."""

    looked_for: Set[str]
    there: Set[str]


@dataclass
class Content:
    """The tables of a lake, and the executor that reads them. `failed` fills with tables that cannot be read."""

    executor: Executor
    tables: Sequence[TableContent]
    hashing: Hashing
    find_deadly: FindDeadly
    failed: dict[int, tuple[str, str]] = field(default_factory=dict)
    progress: Progress = silent  # told how far the running job is
    bytes_read: int = 0  # of the slices that jobs were given, each as often as it was

    def take_samples(self, probes: Sequence[Probe]) -> dict[int, list[SampledRow]]:
        """Sampled rows of each child, over the columns of its probe (see steps.prune_by_content)."""
        samples = self._sample([piece for probe in probes for piece in self._sample_pieces(probe)])
        return {table: rows for table, rows in samples.items() if rows and table not in self.failed}

    def _sample(self, pieces: Sequence[SampleWork]) -> dict[int, list[SampledRow]]:
        samples: defaultdict[int, list[SampledRow]] = defaultdict(list)
        task: Task[SampleWork, Sampled | Failed] = sampling(self.hashing)
        for answer in self._survive(pieces, lambda alive, report: self.executor.run(task, alive, report)):
            if answer["kind"] == "failed":
                self._note(answer)
            else:
                samples[answer["table"]].extend(map(_travelled, answer["rows"]))
        return samples

    def _sample_pieces(self, probe: Probe) -> Iterator[SampleWork]:
        """Random places of a child, slice by slice; the same for the same table and key.

        None where rows are unknown: no draw is uniform then, and a child without a sample is not pruned.
        """
        content = self.tables[probe.child]
        if any(part["rows"] is None for part in content.slices):
            return
        rng = random.Random(f"{self.hashing.key.hex()} {content.slices[0]['path']} {content.rows}")
        parts = list(content.slices)
        if not probe.uniform and len(parts) > CHEAP_PLACES:
            parts = rng.choices(parts, weights=list(map(known_rows, parts)), k=CHEAP_PLACES)
        chosen = rng.choices(range(len(parts)), weights=list(map(known_rows, parts)), k=probe.rows)
        tokens = [column.token for column in probe.columns]
        for number in sorted(set(chosen)):
            places = {rng.randrange(known_rows(parts[number])) for _ in range(chosen.count(number))}
            yield {
                "kind": "sample",
                "table": probe.child,
                "slice": parts[number],
                "tokens": tokens,
                "places": sorted(places),
            }

    def parts(self, table: int) -> int:
        """In how many parts a table is read."""
        return len(self.tables[table].slices)

    def look_for_rows(
        self,
        parents_of: Mapping[int, Sequence[int]],
        probes: Mapping[int, Probe],
        samples: Mapping[int, Sequence[SampledRow]],
        *,
        within: float = 1.0,
    ) -> dict[Pair, Looked]:
        """By (parent, child), the hashes of the child's rows that were looked for, and of those that are there.

        Where less than a whole parent may be read, bounds tell which of its slices may hold a row, and only rows are
        looked for that few of them may; pairs that are left without any are left out.
        """
        wanted = self._wanted(parents_of, probes, samples)
        chosen = self._choose(wanted, within) if within < 1 else {}
        pieces: list[LookUpWork] = [
            {"kind": "look_up", "table": parent, "slice": part, "wanted": rows}
            for parent, asked in wanted.items()
            for place, part in enumerate(self.tables[parent].slices)
            if (rows := _rows_wanted(asked, chosen.get(parent), place))
        ]
        found: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
        task: Task[LookUpWork, Found | Failed] = looking_up(self.hashing)
        for answer in self._survive(pieces, lambda alive, report: self.executor.run(task, alive, report)):
            if answer["kind"] == "failed":
                self._note(answer)
            else:
                found[answer["table"], answer["projection"]].update(answer["found"])
        looked = {
            (parent, child): Looked(mine, mine & found[parent, one.number])
            for parent, asked in wanted.items()
            if parent not in self.failed  # what was not read rules nothing out
            for one in asked.values()
            for child in one.children
            for mine in [_looked_for(one, samples[child], chosen.get(parent))]
        }
        return {pair: rows for pair, rows in looked.items() if rows.looked_for}

    def _choose(self, wanted: Mapping[int, Mapping[tuple[Token, ...], _Asked]], within: float) -> dict[int, Chosen]:
        """By parent, the rows that can be looked for in that share of it, and where."""
        pieces: list[LocateWork] = [
            {
                "kind": "locate",
                "table": parent,
                "slice": part,
                "place": place,
                "wanted": _rows_wanted(asked, None, place),
            }
            for parent, asked in wanted.items()
            for place, part in enumerate(self.tables[parent].slices)
        ]
        places: defaultdict[int, defaultdict[tuple[int, str], list[int]]] = defaultdict(lambda: defaultdict(list))
        with last_try():
            answers = self.executor.run(locating(self.hashing), pieces)
        for answer in answers:
            if answer["kind"] == "failed":
                self._note(answer)
                continue
            for text in answer["rows"]:
                places[answer["table"]][answer["projection"], text].append(answer["place"])
        sizes = {parent: [part["bytes"] for part in self.tables[parent].slices] for parent in wanted}
        return {
            parent: choose_rows(
                [(one.number, text) for one in asked.values() for text, *_ in one.rows],
                places[parent],
                slice_bytes=sizes[parent],
                most_bytes=within * sum(sizes[parent]),
            )
            for parent, asked in wanted.items()
        }

    def _wanted(
        self,
        parents_of: Mapping[int, Sequence[int]],
        probes: Mapping[int, Probe],
        samples: Mapping[int, Sequence[SampledRow]],
    ) -> dict[int, dict[tuple[Token, ...], _Asked]]:
        """By parent and projection: the rows looked for, and the children they come from."""
        wanted: defaultdict[int, dict[tuple[Token, ...], _Asked]] = defaultdict(dict)
        for child, parents in parents_of.items():
            tokens = tuple(column.token for column in probes[child].columns)
            for parent in parents:
                asked = wanted[parent].setdefault(tokens, _Asked(len(wanted[parent])))
                asked.rows.update(samples[child])
                asked.children.append(child)
        return wanted

    def same_bytes(self, groups: Groups) -> dict[int, int]:
        """By table the first of its group whose files are the same, byte by byte. Tables are in one group at most."""
        alike = of_same_shape(groups, self.tables) if self.hashing.raw else []
        pieces = [piece for group in alike for table in group for piece in digest_work(table, self.tables[table])]
        if not pieces:
            return {}
        digests: defaultdict[int, dict[tuple[str, int], str]] = defaultdict(dict)
        task: Task[DigestWork, Digested | Failed] = digesting(self.hashing)
        for answer in self._survive(pieces, lambda alive, report: self.executor.run(task, alive, report)):
            if answer["kind"] == "failed":
                self._note(answer)
            else:
                digests[answer["table"]][answer["path"], answer["chunk"]] = answer["digest"]
        return equal_tables(alike, self.tables, {t: mine for t, mine in digests.items() if t not in self.failed})

    def compare(self, pairs: Ints, *, at_no_cost: Ints = NO_PAIRS) -> Compared:
        """Missing rows and copies of each pair, exactly.

        Pairs are ascending numbers, parent * tables + child. Those in *at_no_cost* are counted too where the hashes
        that they need are there anyway.
        """
        asked, along = (self._readable(some) for some in (pairs, at_no_cost))
        projections, edges = share_projections(self.tables, asked, along)
        pieces: list[HashWork] = [
            {"kind": "hash", "table": table, "slice": part, "projections": projections[table]}
            for table in sorted(projections)
            for part in self.tables[table].slices
        ]
        if not pieces:
            return NOT_COMPARED
        exchange = comparing(self.hashing, edges)
        exchanged = self._survive(pieces, lambda alive, report: self.executor.exchange(exchange, alive, report))
        for note in exchanged.notes:
            self._note(note)
        counted = summed(edges, exchanged.counts, tables=len(self.tables))
        if self.failed:
            readable = np.isin(counted.pairs, self._readable(counted.pairs))
            counted = Compared(*(column[readable] for column in counted))
        return counted

    def read_through(self, files: Mapping[int, Collection[str]], tokens: Mapping[int, Collection[Token]]) -> None:
        """Read some columns of some files of each table, to see that they can be read and compared."""
        pieces: list[SampleWork] = [
            {"kind": "sample", "table": table, "slice": part, "tokens": sorted(tokens[table]), "places": []}
            for table, paths in files.items()
            for part in self.tables[table].slices
            if part["path"] in paths and part["rows"] != 0 and tokens[table]
        ]
        self._sample(pieces)

    def problems(self) -> list[Problem]:
        """The tables that could not be read so far."""
        return [Problem(self.tables[n].name, because, hint=hint) for n, (because, hint) in sorted(self.failed.items())]

    def _readable(self, pairs: Ints) -> Ints:
        """The pairs whose tables have not failed so far."""
        if not self.failed:
            return pairs
        alive = np.ones(len(self.tables), np.bool_)
        alive[list(self.failed)] = False
        return pairs[alive[pairs // len(alive)] & alive[pairs % len(alive)]]

    def _survive(self, pieces: Sequence[Item], job: Callable[[Sequence[Item], Progress], Answer]) -> Answer:
        """Run a job; if a damaged file kills its reader, find the file, and run the job without that table."""
        self.bytes_read += _bytes_of(pieces)
        try:
            return job(pieces, self._telling(pieces))
        except ReaderDied as died:
            deadly = self.find_deadly([piece["slice"] for piece in pieces])
            if not deadly:
                raise died.reason
            for number, why in deadly.items():
                self._note({"kind": "failed", "table": pieces[number]["table"], "because": why, "hint": ""})
            alive = [piece for piece in pieces if piece["table"] not in self.failed]
            with last_try():
                return job(alive, self._telling(alive))

    def _telling(self, pieces: Sequence[Item]) -> Progress:
        """How the executor tells how far it is."""
        size, files = _bytes_of(pieces), in_words(len(pieces), "files")
        return through(self.progress, lambda news: replace(news, total=size, detail=f"{news.pieces:,} of {files}"))

    def _note(self, failed: Failed) -> None:
        self.failed.setdefault(failed["table"], (failed["because"], failed["hint"]))


def _travelled(row: SampledRow) -> SampledRow:
    """A sampled row that has been through JSON."""
    text, half, values = row
    return text, half, tuple((kind, value) for kind, value in values)


def _rows_wanted(
    asked: Mapping[tuple[Token, ...], _Asked], chosen: Chosen | None, place: int
) -> list[tuple[int, tuple[Token, ...], list[SampledRow]]]:
    """By projection, the rows to look for in the slice at a place."""
    if chosen is not None and place not in chosen.places:
        return []
    wanted = [
        (one.number, tokens, [row for row in one.rows if chosen is None or (one.number, row[0]) in chosen.rows])
        for tokens, one in asked.items()
    ]
    return [one for one in wanted if one[2]]


def _looked_for(asked: _Asked, sample: Iterable[SampledRow], chosen: Chosen | None) -> set[str]:
    """The rows of one child's sample that were looked for."""
    texts = {text for text, *_ in sample}
    return texts if chosen is None else {text for text in texts if (asked.number, text) in chosen.rows}


def _bytes_of(pieces: Iterable[SliceWork]) -> int:
    return sum(piece["slice"]["bytes"] for piece in pieces)
