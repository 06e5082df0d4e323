"""What the lake has of a table."""

from __future__ import annotations

from dataclasses import replace

from r2d2.model.table import Problem
from r2d2.report.find import Finding, Likeness

ONE = Likeness("t", 10, 1.0, True, 0)
NOTHING = Finding("new.parquet", 10, 99, (), (), (), (ONE,), "run")


def test_a_table_is_there_if_another_has_all_its_rows_or_is_the_same() -> None:
    assert not NOTHING.is_there and NOTHING.says == "is not in the lake"
    assert replace(NOTHING, equal=(ONE,)).is_there and replace(NOTHING, contained_in=(ONE,)).is_there
    assert replace(NOTHING, is_table="t").says == "is the table t of the lake; no other has all its rows"
    assert replace(NOTHING, is_table="t", equal=(ONE,)).says.endswith("others have its rows, too")


def test_the_document_begins_with_the_answer() -> None:
    document = NOTHING.to_json()
    assert next(iter(document.items())) == ("is_there", False)
    assert list(document["nearest"]) == [{"table": "t", "rows": 10, "containment": 1.0, "bag": True, "missing_rows": 0}]


def test_only_what_could_not_be_read_needs_a_look() -> None:
    assert not replace(NOTHING, problems=(Problem("t", "shares files", kind="notice"),)).needs_a_look
    assert replace(NOTHING, problems=(Problem("t", "broken"),)).needs_a_look


def test_a_notebook_shows_names_as_text() -> None:
    shown = replace(NOTHING, path="<img>", nearest=(replace(ONE, table="<b>"),))._repr_html_()
    assert "<img>" not in shown and "<td>&lt;b&gt;</td>" in shown and shown.count("<td>") == 6
