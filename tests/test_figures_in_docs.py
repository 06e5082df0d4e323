"""Figures in the docs are those of the code, or link to a result file."""

from __future__ import annotations

import math
import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from r2d2.cli.main import cli
from r2d2.report.explain import explain
from r2d2.settings import Settings
from r2d2.state.store import StateStore
from r2d2.synthetic import lake_truth

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"

DEFAULTS = Settings()
OF_SETTINGS = [
    ("README.md", f"# after {DEFAULTS.retention:g} days: free the space"),
    ("docs/how-it-works.md", f"(`--rows`, {DEFAULTS.rows} by default)"),
    ("docs/how-it-works.md", f"`--columns` ({DEFAULTS.columns})"),
    ("docs/how-it-works.md", f"(`--spark-start`, {DEFAULTS.spark_start:g} seconds)"),
    ("docs/how-it-works.md", f"`--prefer-cost` ({DEFAULTS.prefer_cost:.0%})".replace("%", " %")),
    ("docs/operations.md", f"`--worker-timeout` ({DEFAULTS.worker_timeout:g} seconds)"),
    ("docs/operations.md", f"`--footer-timeout` ({DEFAULTS.footer_timeout:g} seconds)"),
    ("docs/recipes.md", f"`--recipe-rows` rows ({DEFAULTS.recipe_rows // 10**6} million)"),
    ("docs/recipes.md", f"`--recipe-parents` ({DEFAULTS.recipe_parents})"),
    ("docs/safety.md", f"committed {DEFAULTS.retention:g} days ago or more"),
]

# A page, a constant of the code, and the words that state it.
OF_CONSTANTS: list[tuple[str, str, str]] = [
    ("docs/how-it-works.md", "r2d2.engine.run.bundles.LEAST_PER_CORE", "{0} to 32 for each core"),
    ("docs/how-it-works.md", "r2d2.engine.run.bundles.MOST_PER_CORE", "8 to {0} for each core"),
    ("docs/how-it-works.md", "r2d2.formats.parquet.read.SLICE_BYTES", "{mb} MB or a million rows"),
    ("docs/how-it-works.md", "r2d2.engine.rows.asked_edges.GROUP_BYTES", "below about {mb} MB of hashes"),
    ("docs/how-it-works.md", "r2d2.steps.verify_containment.MOST_HASHES", "more than {0} hashes of each row"),
    ("docs/operations.md", "r2d2.engine.run.bundles.LEAST_PER_CORE", "{0} to 32 tasks for each core"),
    ("docs/operations.md", "r2d2.engine.run.bundles.MOST_PER_CORE", "8 to {0} tasks for each core"),
    ("docs/operations.md", "r2d2.formats.parquet.read.SLICE_BYTES", "{mb} MB of compressed columns or a million rows"),
    ("docs/operations.md", "r2d2.engine.rows.asked_edges.GROUP_BYTES", "below about {mb} MB of hashes"),
    ("docs/operations.md", "r2d2.engine.spark.connect.REACH_SECONDS", "after {0:g} seconds with `--remote`"),
    ("docs/operations.md", "r2d2.lake.guarded._MORE_MEMORY_BYTES", "at most {gb} GB more than its parent"),
    ("docs/operations.md", "r2d2.safety.batches.MOST_BYTES", "for {mb} MB of small ones"),
    ("docs/operations.md", "r2d2.steps.find_similar.LEAST_SAMPLED", "a sample of {0:,} whole rows"),
    ("docs/safety.md", "r2d2.safety.batches.MOST_TABLES", "up to {0} of them or 256 MB"),
    ("docs/safety.md", "r2d2.safety.batches.MOST_BYTES", "or {mb} MB with their parents"),
    ("docs/safety.md", "r2d2.safety.records.FORMAT", "format of the journal ({0})"),
    ("docs/safety.md", "r2d2.safety.plan.VERSION", "`created` | {0}; any id"),
    ("docs/safety.md", "r2d2.engine.second_reader.share.BYTES_ALONE", "tables of less than {mb} MB"),
    ("docs/state.md", "r2d2.state.store.FORMAT", '{{"format": {0}}}'),
    ("docs/state.md", "r2d2.state.recipes.FORMAT", "| `format` | {0} |"),
    ("docs/state.md", "r2d2.model.values._LONGEST", "cut at {0} characters"),
    ("docs/recipes.md", "r2d2.model.recipe.FORMAT", "| `format` | {0} |"),
    ("docs/recipes.md", "r2d2.steps.predicates.boxes.FEW_VALUES", "{0} values, NULL or not NULL"),
    ("docs/recipes.md", "r2d2.engine.recipes.cast.LONGEST_TEXT", "longer than {0} bytes"),
]


def stated(page: str) -> str:
    """The text of a page, in one line."""
    return re.sub(r"\s+", " ", (ROOT / page).read_text())


def constant(name: str) -> Any:
    """The value of a constant by its full name."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


@pytest.mark.parametrize(("page", "words"), OF_SETTINGS)
def test_a_default_in_the_docs_is_the_setting_s(page: str, words: str) -> None:
    assert words in stated(page)


@pytest.mark.parametrize(("page", "name", "words"), OF_CONSTANTS)
def test_a_figure_in_the_docs_is_the_code_s(page: str, name: str, words: str) -> None:
    value = constant(name)
    assert words.format(value, mb=int(value) >> 20, gb=int(value) >> 30) in stated(page)


def test_figures_in_words_are_the_code_s() -> None:
    assert constant("r2d2.safety.guards.LARGE_SHARE") == 0.2 and "more than 20 % of the lake's" in stated(
        "docs/safety.md"
    )
    assert constant("r2d2.safety.apply.QUIET_SECONDS") == DEFAULTS.quiet_period == 3600
    assert DEFAULTS.min_age == 7 and "in the last seven days" in stated("README.md")
    assert DEFAULTS.keep_runs == 2 and "The last two runs are kept" in stated("docs/state.md")
    assert constant("r2d2.steps.predicates.search.MOST_BOXES") == 6 and "up to six such groups" in stated(
        "docs/recipes.md"
    )
    held = 4 * constant("r2d2.engine.recipes.sample.HELD_ROWS")
    assert f"up to about {held:,} rows" in stated("docs/recipes.md")
    assert math.exp(-constant("r2d2.engine.recipes.row_order.SURPRISING")) < 1e-8
    assert "less than once in 10⁸" in stated("docs/recipes.md")


def test_the_driver_s_memory_is_as_the_docs_say(monkeypatch: pytest.MonkeyPatch) -> None:
    session = import_module("r2d2.engine.spark.session")
    found = []
    for memory in (1 << 20, 1 << 40):
        monkeypatch.setattr(session, "memory_bytes", lambda memory=memory: memory)
        found.append(session._driver_memory())
    assert found == ["1g", "4g"] and "1 to 4 GB" in stated("docs/operations.md")


def test_python_is_the_one_that_the_package_asks_for() -> None:
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    for page in ("README.md", "CONTRIBUTING.md"):
        assert f"Python {asked.removeprefix('>=')} or newer" in stated(page)


def test_the_figures_of_the_demo_are_those_that_it_finds(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    shown = CliRunner().invoke(cli, ["demo", "--folder", str(folder)], catch_exceptions=False).stdout
    scan = StateStore(folder / "state").load()
    left = {line.step: line.left for line in scan.funnel}
    assert scan.schema_graph is not None and scan.graph is not None
    readme, page = stated("README.md"), stated("docs/how-it-works.md")
    for step in ("build_schema_graph", "prune_by_minmax", "verify_containment"):
        assert re.search(rf"│ {step} +│ +{left[step]} │", readme), step
    assert (
        f"{left['profile']} tables, {left['build_schema_graph']} pairs by schema, {left['prune_by_minmax']} after ranges, "
        f"{left['verify_containment']} proven" in page
    )
    counts = scan.schema_graph.operations
    operations = (counts.tables, counts.families, counts.brute_force, counts.clusters, counts.index)
    assert f"| the demo | {' | '.join(f'{count:,}' for count in operations)} |" in page
    assert f'`"tables": {left["profile"]}` and `"edges": {left["verify_containment"]}`' in stated("docs/json.md")
    assert set(scan.graph.edges()) == {(edge.parent, edge.child) for edge in lake_truth(folder / "lake")}
    for start in (f"{left['profile']} tables, ", "30 of 60 tables may go", "Privacy requests read", "A GiB costs"):
        line = next(line for line in shown.splitlines() if line.startswith(start))
        assert line in (ROOT / "README.md").read_text(), line
    answer = explain(scan, parent="crm/customers.parquet", child="customers_latest_for_report")
    assert f"{answer.trail[-1].check}: {answer.verdict}, {answer.because}" in readme


def test_the_share_of_a_parent_that_a_probe_may_read_is_the_one_in_the_docs() -> None:
    assert constant("r2d2.steps.prune_by_content.WITHIN") == 1 / 8
    page = stated("docs/how-it-works.md")
    assert "no more than an eighth of a parent's bytes" in page and "in fewer than eight slices" in page
