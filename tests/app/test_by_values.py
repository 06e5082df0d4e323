"""The second reader's answers reach safe deletion as they are, errors included."""

from __future__ import annotations

from typing import Any

from r2d2.app.by_values import ByValues
from r2d2.errors import TableError
from r2d2.model.progress import News
from r2d2.model.rebuild import Comparison, Content

MEASURED = Content(5, 4, "digest")
BROKEN = TableError("cannot read table b: it ends before its footer")


class Reader:
    """A second reader that finds the first table the same, and cannot read the second."""

    def verify_many(self, asked: Any) -> Any:
        return [Comparison("", MEASURED), BROKEN][: len(asked)]

    compare_many = verify_many

    def rebuild_many(self, asked: Any) -> Any:
        return [("part-0.parquet",), BROKEN][: len(asked)]

    def measure_many(self, tables: Any) -> Any:
        return [MEASURED, BROKEN][: len(tables)]


def test_each_answer_is_handed_on() -> None:
    reader, two = ByValues(Reader()), [None, None]  # type: ignore[arg-type]
    assert reader.verify_many(two) == [Comparison("", MEASURED), BROKEN]  # type: ignore[arg-type]
    assert reader.compare_many(two) == [Comparison("", MEASURED), BROKEN]  # type: ignore[arg-type]
    assert reader.measure_many(two) == [MEASURED, BROKEN]  # type: ignore[arg-type]
    assert reader.rebuild_many(two) == [("part-0.parquet",), BROKEN]  # type: ignore[arg-type]


def test_rebuilds_are_counted_out_of_those_expected() -> None:
    said: list[News] = []
    reader = ByValues(Reader(), said.append)  # type: ignore[arg-type]
    reader.expect(3)
    reader.rebuild_many([None, None])  # type: ignore[list-item]
    reader.rebuild_many([None])  # type: ignore[list-item]
    assert said == [News("rebuilding", 0, 3), News("rebuilding", 2, 3)]
