"""A generated lake as a document."""

from __future__ import annotations

from pathlib import Path

from r2d2.report.generate import generated_report
from r2d2.synthetic.lineage import GeneratedLake


def test_paths_are_text_and_truth_is_null_if_it_was_not_written() -> None:
    lake = GeneratedLake(Path("f/lake"), Path("f/lineage.json"), 1, ())
    assert generated_report(lake, None).to_json() == {
        "lake": "f/lake",
        "lineage": "f/lineage.json",
        "truth": None,
        "tables": 0,
        "rows": 0,
        "size_bytes": 0,
    }
    assert generated_report(lake, Path("f/truth.json")).truth == "f/truth.json"
