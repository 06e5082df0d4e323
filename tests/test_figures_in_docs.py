"""Figures in the docs are those of the code, or link to a result file."""

from __future__ import annotations

import math
import re
import tomllib
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pyspark
import pytest
from click.testing import CliRunner

from r2d2.cli.main import cli
from r2d2.engine.second_reader.types import Leaf
from r2d2.errors import TableError
from r2d2.prices import load_prices
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
    ("docs/operations.md", "r2d2.cli.progress.SECONDS_BETWEEN_LINES", "another every {0:g} seconds"),
    ("docs/operations.md", "r2d2.cli.time_left.STALLED_SECONDS", "nothing has advanced for {0:g} seconds"),
    ("docs/operations.md", "r2d2.formats.parquet.read.SLICE_BYTES", "a part of a big one, about {mb} MB, as one"),
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


def cells(line: str) -> list[str]:
    """The cells of a printed row, up to where the docs shorten them."""
    return [cell.partition("…")[0] for cell in re.split(r"\s*│\s*|\s{2,}", line.strip(" │"))]


def is_shown(sample: str, printed: str) -> bool:
    """Whether a row of the docs is one of the printed rows; columns may be left out."""
    for line in printed.splitlines():
        left = iter(cells(line))
        if all(any(one.startswith(wanted) for one in left) for wanted in cells(sample)):
            return True
    return False


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
    assert constant("r2d2.formats.parquet.read.SLICE_ROWS") == 1 << 20 and "or a million rows" in stated(
        "docs/how-it-works.md"
    )


def test_the_pace_of_progress_is_as_the_docs_say() -> None:
    page = stated("docs/operations.md")
    assert constant("r2d2.cli.time_left.WINDOW_SECONDS") == 30 and "as fast as in the last half minute" in page
    assert constant("r2d2.engine.run.udp_progress.SECONDS_BETWEEN") == 1 / 5 and "five times a second at most" in page


def test_a_sample_with_a_guarantee_has_the_rows_that_the_docs_say() -> None:
    rows = constant("r2d2.steps.prune_by_content.rows_to_sample")(missing_share=0.1, risk=0.05)
    assert f"ε = 0.1 and δ = 0.05 take {rows} rows" in stated("docs/how-it-works.md")


def test_java_and_spark_are_those_that_the_docs_name() -> None:
    page = stated("docs/operations.md")
    (spark,) = set(re.findall(r"[Ww]ith Spark (\d\.\d)\b", page))
    assert pyspark.__version__.startswith(f"{spark}.")
    oldest, newest = constant("r2d2.engine.spark.java._suitable_versions")()
    assert f"With Spark {spark} it must be Java {oldest} to {newest}" in page


def test_the_decimals_that_are_never_deleted_are_those_that_spark_cannot_read() -> None:
    (digits,) = re.findall(r"decimals of more than (\d+) digits", stated("docs/operations.md"))
    spark_word = constant("r2d2.engine.second_reader.types.spark_word")
    assert spark_word(Leaf(f"decimal({digits},0)")) == f"decimal({digits},0)"
    with pytest.raises(TableError):
        spark_word(Leaf(f"decimal({int(digits) + 1},0)"))


def test_years_in_the_docs_are_those_of_the_code() -> None:
    last = datetime(1970, 1, 1) + timedelta(milliseconds=constant("r2d2.formats.parquet.int96._MOST_MILLIS")["ns"])
    assert f"finer than microseconds, beyond {last.year} or inside structs" in stated("docs/operations.md")
    old = "r2d2.formats.parquet.old_calendar"
    day = datetime(1970, 1, 1) + timedelta(days=constant(f"{old}.FIRST_DAY"))
    moment = datetime(1970, 1, 1) + timedelta(seconds=constant(f"{old}.FIRST_MOMENT"))
    words = f"days before {day.year} and moments with a zone before {moment.year}"
    assert words in stated("docs/row-identity.md")


@pytest.mark.parametrize(
    ("pattern", "older", "first", "words"),
    [
        ("_NEVER_CUTS", "parquet-cpp-arrow version {}.0.0", 12, "unless Arrow 12 or newer wrote it"),
        ("_FLAGS_HOLD", "DuckDB version v{}.0.0", 2, "DuckDB 2 or newer"),
        ("_OLD_PARQUET_MR", "parquet-mr version 1.{}.0", 10, "parquet-mr before 1.10"),
    ],
)
def test_versions_of_writers_are_those_of_the_code(pattern: str, older: str, first: int, words: str) -> None:
    found = constant(f"r2d2.formats.parquet.statistics.{pattern}")
    assert bool(found.match(older.format(first))) != bool(found.match(older.format(first - 1)))
    assert words in stated("docs/row-identity.md")


def test_numbers_of_checks_and_permissions_in_the_docs_are_the_code_s() -> None:
    page = stated("docs/state.md")
    told = {
        "NONE": "metadata only",
        "SAMPLED": "sampled rows",
        "COMPARED": "every row compared",
        "EQUAL": "equal tables",
        "IMPLIED": "follows from others",
    }
    checks = constant("r2d2.model.graph.Check")
    assert ", ".join(f"{check.value} {told[check.name]}" for check in checks) in page
    store = "r2d2.state.store"
    assert (
        f"({constant(f'{store}.PRIVATE_FOLDER'):04o})" in page and f"({constant(f'{store}.PRIVATE_FILE'):04o})" in page
    )


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
    for step in ("discover", "profile", "build_schema_graph", "prune_by_minmax", "verify_containment"):
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
    for start in (
        f"{left['profile']} tables, ",
        "30 of 60 tables may go",
        "A month: ",
        "Privacy requests read",
        "A GiB costs",
    ):
        line = next(line for line in shown.splitlines() if line.startswith(start))
        assert line in (ROOT / "README.md").read_text(), line
    samples = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith(" archive/")]
    assert len(samples) == 4 and not [line for line in samples if not is_shown(line, shown)]
    assert re.search(r"│ prune_by_minmax .*│ 86 by range │", shown) and "│ 86 by range │" in readme
    assert_sum_of_the_readme(shown, readme)
    answer = explain(scan, parent="crm/customers.parquet", child="customers_latest_for_report")
    assert f"{answer.trail[-1].check}: {answer.verdict}, {answer.because}" in readme
    trail = [f"{step.check}: {step.verdict}, {step.because}" for step in answer.trail]
    assert all(line in readme for line in trail if line.startswith(("build", "prune_by_minmax")))


def assert_sum_of_the_readme(shown: str, readme: str) -> None:
    """Hold the sum that the README invites to check to the figures of the demo."""
    (megabytes,) = re.findall(r"tables may go: ([\d.]+) MB", shown)
    (storage,) = re.findall(r"A month: storage ([\d.]+) USD", shown)
    gib, price = float(megabytes) * 1e6 / 2**30, load_prices("azure").storage_per_gib_month
    assert f"{megabytes} MB are {gib:.2g} GiB; times {price:g} USD, that is the {storage} USD of storage" in readme
    assert f"{gib * price:.2g}" == f"{float(storage):.2g}"


def test_the_share_of_a_parent_that_a_probe_may_read_is_the_one_in_the_docs() -> None:
    assert constant("r2d2.steps.prune_by_content.WITHIN") == 1 / 8
    page = stated("docs/how-it-works.md")
    assert "no more than an eighth of a parent's bytes" in page and "in fewer than eight slices" in page
