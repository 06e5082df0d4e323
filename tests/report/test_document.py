"""Every view model of a command has the fields of its golden file, and becomes plain JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path

import pytest

from r2d2.report.deletion import ApplyReport, DoctorReport, PreviewReport, PurgeReport, StatusReport, TablesReport
from r2d2.report.document import Document
from r2d2.report.edges import EdgeRow
from r2d2.report.recipe import RecipeEntry, RecipeForgotten, RecipeLine, RecipeTrial
from r2d2.report.scan import ScanReport
from r2d2.report.update import UpdateReport

GOLDEN = Path(__file__).parent.parent / "golden"
VIEWS: dict[str, type[Document]] = {
    "scan": ScanReport,
    "update": UpdateReport,
    "edges": EdgeRow,
    "recipe-infer": RecipeLine,
    "recipe-show": RecipeEntry,
    "recipe-set": RecipeTrial,
    "recipe-forget": RecipeForgotten,
    "apply": ApplyReport,
    "apply-dry-run": PreviewReport,
    "drill": TablesReport,
    "purge": PurgeReport,
    "restore": TablesReport,
    "status": StatusReport,
    "doctor": DoctorReport,
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_model_has_the_fields_of_its_document(name: str) -> None:
    golden = json.loads((GOLDEN / f"{name}.json").read_text())
    document = golden[0] if isinstance(golden, list) else golden
    assert {field.name for field in fields(VIEWS[name])} == set(document)


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Inner(Document):
    colour: Colour


@dataclass(frozen=True)
class Outer(Document):
    inner: tuple[Inner, ...]


def test_words_from_a_list_become_plain_text_however_deep() -> None:
    found = Outer((Inner(Colour.RED),)).to_json()
    assert type(found["inner"][0]["colour"]) is str
    assert json.dumps(found) == '{"inner": [{"colour": "red"}]}'
