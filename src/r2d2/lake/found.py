"""Results of the walk: tables in the making, problems, and links to resolve later."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from r2d2.lake.listing import Folder, Link, printable
from r2d2.model.counted import counted
from r2d2.model.table import DataFile, Problem, Table


@dataclass(slots=True)
class Draft:
    """A table as the walk finds it; what lies further down may still add to its `unexplained`."""

    name: str
    location: str
    files: tuple[DataFile, ...]
    is_folder: bool
    format: str
    by_names: bool = False
    aliases: list[str] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)

    def note(self, path: str) -> None:
        """Keep that something at *path*, in this table's folder, is no part of it."""
        below = path.removeprefix(self.location).lstrip(os.sep)
        self.unexplained.append(printable(below).replace(os.sep, "/"))

    def finish(self) -> Table:
        """The table."""
        aliases, unexplained = tuple(sorted(self.aliases)), tuple(sorted(set(self.unexplained)))
        return Table(self.name, self.format, self.location, self.files, aliases, unexplained, self.by_names)


@dataclass(frozen=True, slots=True)
class FoundLink:
    """A link and where it lies."""

    name: str
    folder_path: str
    link: Link


@dataclass(slots=True)
class Found:
    """Results of the walk so far."""

    drafts: list[Draft] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    links: list[FoundLink] = field(default_factory=list)
    unsupported: Counter[str] = field(default_factory=Counter)  # by format, for the hint where no table is found

    def add(
        self,
        name: str,
        location: str,
        files: Iterable[DataFile],
        *,
        is_folder: bool,
        format: str,
        by_names: bool = False,
    ) -> Draft:
        """Keep a table of this format."""
        self.drafts.append(Draft(name, location, tuple(files), is_folder, format, by_names))
        return self.drafts[-1]

    def unreadable(self, name: str, reasons: Sequence[str], *, way_out: str = "") -> None:
        """Keep what cannot be used, though it should be."""
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        hint = f"put it right, {way_out}or leave it out with --exclude {shlex.quote(name)}"
        self.problems.append(Problem(name, reasons[0] + more, hint, "unreadable"))

    def refuse_table(self, folder: Folder) -> None:
        """Keep a folder that is a table of a format that is not read yet."""
        self.unsupported[f"{folder.table_format} tables"] += 1
        article = "an" if folder.table_format == "Iceberg" else "a"
        because = f"is {article} {folder.table_format} table; not supported yet"
        self.problems.append(Problem(folder.name, because, kind="unsupported"))

    def refuse_files(self, name: str, formats: Counter[str], *, where: str = "") -> None:
        """Keep files of formats that are not read yet."""
        for format_name, count in sorted(formats.items()):
            self.unsupported[f"{format_name} files"] += count
            because = f"{counted(count, f'{format_name} files')}{where}; not supported yet"
            self.problems.append(Problem(name, because, kind="unsupported"))

    def notice(self, name: str, because: str, *, hint: str = "") -> None:
        """Keep what the user may want to know."""
        self.problems.append(Problem(name, because, hint, "notice"))
