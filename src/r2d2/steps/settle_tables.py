"""Names propose tables, schemas decide (HAZARDS 51): files that do not fit one another are tables of their own.

Files called `2024-01-01.parquet` look like the parts of one table, and so do thousands of unrelated ones called
`1-10006830-1.parquet`. They are one table if every column is of one kind in all of them and some column is in all of
them. More files never make files fit that did not: an update need not read what it knows to be apart.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from r2d2.model.profile import TableProfile
from r2d2.model.schema import Schema, Token
from r2d2.model.table import Discovery, Problem, Profiled, Table

Outcome = tuple[Table, TableProfile] | Problem
Known = Callable[[Sequence[Table]], Mapping[str, tuple[Table, TableProfile]]]
"""Tables, of those that were listed, whose profiles are known already; by name."""


def settle_tables(
    found: Discovery,
    *,
    profile: Callable[[Sequence[Table]], Profiled],
    discover_again: Callable[[Collection[str]], Discovery],
    known: Known,
) -> tuple[Discovery, Profiled]:
    """Profile what was found; list the lake again where schemas say that a folder is no table.

    Each round takes at least one more folder apart, so there is a last one. What was profiled before and is listed the
    same again is not read again.
    """
    apart = split_folders(found.tables)
    done: dict[str, tuple[Table, Outcome]] = {}
    while True:
        done = {table.name: done[table.name] for table in found.tables if _is_done(table, done)}
        todo = [table for table in found.tables if table.name not in done]
        given = known(todo)
        todo = [table for table in todo if table.name not in given]
        answer = profile(todo)
        done |= _outcomes(todo, answer) | {name: (table, (table, seen)) for name, (table, seen) in given.items()}
        if apart.issuperset(answer.apart):
            return found, _profiled(found.tables, done)
        apart |= set(answer.apart)
        found = discover_again(apart)


def split_folders(tables: Iterable[Table]) -> set[str]:
    """The folders, by path, whose files were taken for tables of their own though they are named like parts."""
    return {os.path.dirname(table.location) for table in tables if table.by_names and table.is_file}


def still_apart(files: Iterable[Table], known: Mapping[str, TableProfile]) -> set[str]:
    """The folders, by path, whose *files* do not fit one another judging by those whose profiles are *known*."""
    schemas: defaultdict[str, list[Schema]] = defaultdict(list)
    for file in files:
        if file.name in known:
            schemas[os.path.dirname(file.location)].append(known[file.name].schema)
    return {folder for folder, several in schemas.items() if not fit_one_table(several)}


def once_alone(old: Sequence[Table], tables: Sequence[Table]) -> list[Table]:
    """Files that were tables of their own and now lie in folders that only their names make tables; as such."""
    alone = {table.location: table for table in old if table.is_file}
    return [
        replace(alone[file.path], files=(file,))
        for table in tables
        if table.by_names
        for file in table.files
        if file.path in alone
    ]


def fit_one_table(schemas: Sequence[Schema]) -> bool:
    """Whether files with these schemas can be one table, if nothing but their names says that they are."""
    kinds: dict[Token, str] = {}
    with_columns = [schema for schema in schemas if schema.columns]
    for schema in with_columns:
        for column in schema.columns:
            if column.kind != "null" and kinds.setdefault(column.token, column.kind) != column.kind:
                return False
    return not with_columns or bool(frozenset.intersection(*(frozenset(s.tokens) for s in with_columns)))


def _is_done(table: Table, done: Mapping[str, tuple[Table, Outcome]]) -> bool:
    """Whether the table was profiled as it is listed now."""
    if table.name not in done:
        return False
    then = done[table.name][0]
    return then.location == table.location and then.states == table.states


def _outcomes(tables: Sequence[Table], answer: Profiled) -> dict[str, tuple[Table, Outcome]]:
    listed = {table.name: table for table in tables}
    done: dict[str, tuple[Table, Outcome]] = {p.where: (listed[p.where], p) for p in answer.problems}
    for table, profile in zip(answer.tables, answer.profiles, strict=True):
        done[table.name] = listed[table.name], (table, profile)
    return done


def _profiled(tables: Sequence[Table], done: Mapping[str, tuple[Table, Outcome]]) -> Profiled:
    """Collect the outcome of each table, in the order in which they are listed."""
    outcomes = [(table, done[table.name][1]) for table in tables]
    good = [(table, *outcome) for table, outcome in outcomes if not isinstance(outcome, Problem)]
    return Profiled(
        tables=[_as_listed(seen, table) for table, seen, _ in good],
        profiles=[profile for _, _, profile in good],
        problems=[outcome for _, outcome in outcomes if isinstance(outcome, Problem)],
    )


def _as_listed(seen: Table, table: Table) -> Table:
    """The table as it was read, with the other names and the unexplained content of the last listing."""
    if (table.aliases, table.unexplained) == (seen.aliases, seen.unexplained):
        return seen
    return replace(table, files=seen.files)
