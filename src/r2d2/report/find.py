"""A table compared with the lake: the document of `r2d2 find`."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from r2d2.model.table import Problem
from r2d2.report.document import Document, as_json
from r2d2.report.html_table import html_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Likeness:
    """Comparison of one table of the lake with the given one."""

    table: str
    rows: int | None
    containment: float | None  # share of the child's rows that are in the parent
    bag: bool  # whether it holds with multiplicity too
    missing_rows: int


@dataclass(frozen=True)
class Finding(Document):
    """Tables of the lake that share rows with a given table. `contained_in` and `contains` leave out equal ones."""

    path: str
    rows: int | None
    size_bytes: int
    equal: tuple[Likeness, ...]
    contained_in: tuple[Likeness, ...]
    contains: tuple[Likeness, ...]
    nearest: tuple[Likeness, ...]
    run: str  # the scan it was compared with
    problems: tuple[Problem, ...] = ()  # tables of the lake that could not be read, or be compared with it
    is_table: str = ""  # the table of the lake that has the same files, if any
    bytes_read: int = 0
    kept_bytes_read: int = 0  # always: see ScanReport
    session_seconds: float = 0.0

    @property
    def is_there(self) -> bool:
        """Whether a table of the lake has all its rows, or has the same files."""
        return bool(self.is_table or self.equal or self.contained_in)

    @property
    def needs_a_look(self) -> bool:
        """Whether tables that might have its rows could not be read."""
        return any(problem.needs_a_look for problem in self.problems)

    @property
    def says(self) -> str:
        """The answer in words."""
        if self.is_table:
            others = "others have its rows, too" if self.equal or self.contained_in else "no other has all its rows"
            return f"is the table {self.is_table} of the lake; {others}"
        return "is in the lake already" if self.is_there else "is not in the lake"

    def to_json(self) -> dict[str, Any]:
        """The document of `r2d2 find`."""
        return {"is_there": self.is_there} | as_json(self)

    def lines(self) -> Iterator[dict[str, Any]]:
        """All results, line by line; `how` is the name of the field that each comes from."""
        for how in ("equal", "contained_in", "contains", "nearest"):
            for one in getattr(self, how):
                yield {"how": how} | as_json(one)

    def to_pandas(self) -> pd.DataFrame:
        """A DataFrame with one row for each listed table of the lake."""
        import pandas as pd

        return pd.DataFrame(list(self.lines()), columns=list(_FIELDS))

    def _repr_html_(self) -> str:
        table = html_table(_FIELDS, self.lines())
        return f"<p>{html.escape(self.path)} {html.escape(self.says)}</p>{table}"


_FIELDS = ("how", *(field.name for field in fields(Likeness)))
