"""A synthetic lake: the document of `r2d2 generate`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from r2d2.report.document import Document

if TYPE_CHECKING:
    from r2d2.synthetic import GeneratedLake


@dataclass(frozen=True)
class GeneratedReport(Document):
    """Paths and size of a generated lake."""

    lake: str
    lineage: str
    truth: str | None
    tables: int
    rows: int
    size_bytes: int


def generated_report(lake: GeneratedLake, truth: Path | None) -> GeneratedReport:
    """The report of a generated lake; *truth* is the file of its true edges, if one was written."""
    return GeneratedReport(
        str(lake.path),
        str(lake.lineage_path),
        str(truth) if truth else None,
        len(lake.tables),
        lake.rows,
        lake.size_bytes,
    )
