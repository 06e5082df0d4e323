"""Find the tables under some folders, the files of each, and name everything else.

- A name is the path below the root, with `/`: a folder's for a table of parts or partitions, else a file's.
  With several roots each root's base name comes before it. A root that is itself a table has its base name.
- Data files are those of a format in `r2d2.formats.registry`: Parquet. Files of two formats are never one table.
- Part files (`part-0.parquet`, `000000_0`, a UUID, any data file beside `_SUCCESS` …) make their folder one
  table; a data file named otherwise is a table of its own. `folder_tables` are globs on the names of
  folders whose data files are one table, whatever they are called; `split` are globs on those of folders
  that are no table: each file in them is one.
- A folder that a format claims, since it lists the files of a table itself, is that table.
- Names such as `2024-01-01.parquet` only suggest a table (`Table.by_names`): the schemas decide. If they do not
  fit one another the lake is listed again with that folder `apart`, and each file is a table.
- The topmost folder with `key=value` folders that hold data is one table; files that disagree on the keys make
  it unreadable. Data beside such folders: a single folder is one like any other; files with names that people
  give are tables of their own; part files make the table unreadable, as do all files where a writer's marker or
  the user calls the folder one table.
- Delta, Iceberg, Hudi, and files of other formats are named as problems and not read.
- What is in a table's folder and is no part of it is in its `unexplained`; an entry that ends in `/` is a
  folder that was not looked into, cannot be used, or was excluded. Hidden folders (`.x`, `_x`) stay shut.
- Links are not followed. One that leads to a table, or above some, inside the roots gives them aliases.
  Tables of the same physical files are one, under the name that sorts first. What nests or shares files is
  in `overlaps`.
- `include` and `exclude` are globs on whole names: `*` matches `/` too, what matches a folder matches all
  below it, `exclude` wins. A table is taken or left as a whole: no pattern makes it smaller.
- An error never makes a table smaller: it takes the table out and is named (HAZARDS 26).
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence

from r2d2.errors import UserError
from r2d2.lake.filters import Patterns
from r2d2.lake.found import Draft, Found
from r2d2.lake.identity import find_overlaps, merge_same, resolve_links
from r2d2.lake.listing import paths_above
from r2d2.lake.roots import Root, resolve_roots
from r2d2.lake.walk import Told, walk
from r2d2.model.counted import counted
from r2d2.model.progress import News, Progress, silent
from r2d2.model.table import Discovery, Problem
from r2d2.stores.contract import Store
from r2d2.stores.local import LocalStore


def discover(
    roots: Sequence[str],
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    folder_tables: Sequence[str] = (),
    split: Sequence[str] = (),
    apart: Collection[str] = (),
    progress: Progress = silent,
) -> Discovery:
    """Every table under *roots*, each once. *progress* is told the number found so far.

    *apart* are the paths of folders whose files, though they are named like parts, do not fit one another.
    """
    store = LocalStore(listed_ns=time.time_ns())
    resolved = resolve_roots([roots] if isinstance(roots, str) else roots)
    found, told = Found(), Told(Patterns(folder_tables, known=()), Patterns(split, known=()), frozenset(apart))
    for root in resolved:
        _walk_one(root, found, store, told, progress)
    if not found.drafts:
        where = ", ".join(root.path for root in resolved)
        raise UserError(f"no table under {where}", hint=_what_there_is(found))
    resolve_links(found, resolved)
    _select(found, include, exclude)
    _name_unused("--folder-table", told.one, found)
    _name_unused("--split", told.split, found)
    tables = [draft.finish() for draft in found.drafts]
    merged, overlaps = merge_same(tables, find_overlaps(tables))
    progress(News("discover", len(merged)))
    problems = sorted(found.problems, key=lambda problem: (problem.where, problem.kind, problem.because))
    return Discovery(tuple(root.path for root in resolved), tuple(merged), tuple(problems), overlaps)


def _walk_one(root: Root, found: Found, store: Store, told: Told, progress: Progress) -> None:
    before = len(found.drafts)
    walk(root, found, store=store, told=told, progress=progress)
    if len(found.drafts) == before:
        found.notice(root.label, "no table was found in this root")


def _select(found: Found, include: Sequence[str], exclude: Sequence[str]) -> None:
    """Drop what the user does not want. To a table that holds it, it is then unexplained (HAZARDS 8)."""
    known = [draft.name for draft in found.drafts] + [problem.where for problem in found.problems]
    wanted, unwanted = Patterns(include, known=known), Patterns(exclude, known=known)
    kept: list[Draft] = []
    dropped: list[Draft] = []
    for draft in found.drafts:
        is_wanted, is_unwanted = not include or wanted.match(draft.name), unwanted.match(draft.name)
        (kept if is_wanted and not is_unwanted else dropped).append(draft)
    if not kept:
        names = ", ".join(sorted(draft.name for draft in found.drafts)[:3])
        hint = f"they match whole names, such as {names}, and * matches / too"
        raise UserError(f"--include and --exclude leave none of {counted(len(dropped), 'tables')}", hint=hint)
    found.drafts = kept
    _note_dropped(kept, dropped)
    found.problems = [problem for problem in found.problems if _concerns(problem, wanted, unwanted, bool(include))]
    _name_unused("--include", wanted, found)
    _name_unused("--exclude", unwanted, found)


def _note_dropped(kept: Iterable[Draft], dropped: Iterable[Draft]) -> None:
    folders = {draft.location: draft for draft in kept}
    for draft in dropped:
        holder = next((folders[path] for path in paths_above(draft.location) if path in folders), None)
        if holder is not None:
            holder.note(draft.location + ("/" if draft.is_folder else ""))


def _concerns(problem: Problem, wanted: Patterns, unwanted: Patterns, is_limited: bool) -> bool:
    """Whether a problem lies in, or may hide, what the user asked for."""
    if unwanted.match(problem.where):
        return False
    return not is_limited or wanted.match(problem.where) or wanted.may_match_below(problem.where)


def _name_unused(option: str, patterns: Patterns, found: Found) -> None:
    for pattern in patterns.unused:
        found.notice(pattern, f"{option} {pattern!r} matched nothing", hint="it is a glob on whole names")


def _what_there_is(found: Found) -> str:
    """A hint where tables were expected and none was found."""
    if broken := [problem for problem in found.problems if problem.needs_a_look]:
        more = f"; {len(broken) - 1} more cannot be used either" if len(broken) > 1 else ""
        return f"{broken[0].where}: {broken[0].because}{more}"
    seen = [counted(count, what) for what, count in sorted(found.unsupported.items())]
    if seen:
        return f"what was seen there is not supported yet: {', '.join(seen)}"
    return "it holds no Parquet files"
