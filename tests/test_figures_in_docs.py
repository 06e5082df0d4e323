"""Figures in the docs are those of the code, of the demo, or of a result file that they link to.

Each is found by its words: in OF_SETTINGS and OF_CONSTANTS, which hold the value of the code; in TOLD, whose tests take
the figure from the page; in OF_DEMO, which the demo has to print. The last tests fail for all others.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyspark
import pytest
from click.testing import CliRunner

from r2d2.cli.main import cli
from r2d2.engine.kernels import pack_rows
from r2d2.engine.second_reader.types import Leaf
from r2d2.engine.spark.ship_code import packed_source
from r2d2.errors import TableError
from r2d2.prices import load_prices
from r2d2.report.explain import explain
from r2d2.settings import Settings
from r2d2.state.store import StateStore
from r2d2.synthetic import lake_truth
from tests.support.figures import blocks, is_among, numbers

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
    ("docs/decisions/0019-equal-tables.md", f"may cost {DEFAULTS.prefer_cost:.0%} of the savings".replace("%", " %")),
]

# A page, a constant of the code, and the words that state it.
OF_CONSTANTS: list[tuple[str, str, str]] = [
    ("docs/how-it-works.md", "r2d2.engine.run.bundles.LEAST_PER_CORE", "{0} to 32 for each core"),
    ("docs/how-it-works.md", "r2d2.engine.run.bundles.MOST_PER_CORE", "8 to {0} for each core"),
    ("docs/how-it-works.md", "r2d2.formats.parquet.read.SLICE_BYTES", "{mb} MB or a million rows"),
    ("docs/how-it-works.md", "r2d2.engine.rows.asked_edges.GROUP_BYTES", "below about {mb} MB of hashes"),
    ("docs/how-it-works.md", "r2d2.steps.verify_containment.MOST_HASHES", "more than {0} hashes of each row"),
    ("docs/how-it-works.md", "r2d2.steps.prune_by_content.LEAST_BYTES", "Parents of less than {mb} MB"),
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
    ("docs/decisions/0003-footers-in-a-child-process.md", "r2d2.lake.guarded._MORE_MEMORY_BYTES", "the {gb} GB it may"),
    ("docs/decisions/0012-little-work-at-hand.md", "r2d2.app.lake_tools.FILES_AT_HAND", "footers of up to {0} files"),
    ("docs/decisions/0012-little-work-at-hand.md", "r2d2.app.child_tasks.LITTLE_BYTES", "up to {mb} MB of rows"),
    ("docs/decisions/0012-little-work-at-hand.md", "r2d2.app.lake_tools.FILES_MEANWHILE", "up to {0:,} footers"),
    ("docs/decisions/0017-row-order.md", "r2d2.engine.recipes.row_order.FIRST_ROWS", "the first {0} rows"),
]

# A page and words with a figure, which the test that asks for them by this name holds to the code.
TOLD: dict[str, tuple[str, str]] = {
    "large plan": ("docs/safety.md", r"more than (\d+) % of the lake's"),
    "young tables": ("README.md", r"in the last (\w+) days"),
    "rows held": ("docs/recipes.md", r"up to about ([\d,]+) rows"),
    "rows sampled": ("docs/how-it-works.md", r"ε = 0.1 and δ = 0.05 take (\d+) rows"),
    "pace window": ("docs/operations.md", r"as fast as in the last (half minute)"),
    "pace of news": ("docs/operations.md", r"(\w+) times a second at most"),
    "decimals": ("docs/operations.md", r"decimals of more than (\d+) digits"),
    "driver memory": ("docs/operations.md", r"(\d) to (\d) GB; `--driver-memory"),
    "bytes a row": ("docs/operations.md", r"about (\d+) bytes for each row"),
    "shipped code": ("docs/operations.md", r"its code, less than (\d+) kB"),
    "cut file": ("docs/operations.md", r"part-0\.parquet ends before its footer \(truncated, ([\d,]+) bytes\)"),
    "checks": ("docs/state.md", r"0 metadata only, [\w ,]+ others"),
}

# A page and a pattern: each text of the page that it finds is one that the demo gives.
OF_DEMO: list[tuple[str, str]] = [
    ("README.md", r"make a lake of \d+ tables"),
    ("README.md", r"\d+ tables, [\d,]+ rows, [\d.]+ MB"),
    ("README.md", r"│ \w+ │ \d+ │ [\w ,]+ │ (?:\d+ by \w+ )?│"),
    ("README.md", r"projection +[\d.]+ kB +[\d.]+ USD +about \d+ s"),
    ("README.md", r"\d+ of \d+ tables may go: .*?%\)"),
    ("README.md", r"A month: .*? saved of [\d.]+ USD"),
    ("README.md", r"Privacy requests read .*? in a month"),
    ("README.md", r"A GiB costs .*? to write\."),
    ("README.md", r"[\d.]+ MB are [\d.]+ GiB; times [\d.]+ USD, that is the [\d.]+ USD of storage"),
    ("README.md", r"build_schema_graph: POSSIBLE.*?\(containment [\d.]+\)"),
    ("docs/how-it-works.md", r"\d+ tables, \d+ pairs by schema, \d+ after ranges, \d+ proven"),
    ("docs/how-it-works.md", r"exactly the \d+ that comparing"),
    ("docs/how-it-works.md", r"\| the demo [\d |,]+\|"),
    ("docs/json.md", r'`"tables": \d+` and `"edges": \d+`'),
]
IN_WORDS = {2: "two", 5: "five", 6: "six", 7: "seven"}


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


def told(name: str) -> tuple[str, ...]:
    """The figures that a page tells, once."""
    page, pattern = TOLD[name]
    (found,) = re.finditer(pattern, stated(page))
    return found.groups() or (found[0],)


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
    assert told("large plan") == (f"{100 * constant('r2d2.safety.guards.LARGE_SHARE'):g}",)
    assert constant("r2d2.safety.apply.QUIET_SECONDS") == DEFAULTS.quiet_period == 3600
    assert told("young tables") == (IN_WORDS[DEFAULTS.min_age],)
    assert f"The last {IN_WORDS[DEFAULTS.keep_runs]} runs are kept" in stated("docs/state.md")
    boxes = constant("r2d2.steps.predicates.search.MOST_BOXES")
    assert f"up to {IN_WORDS[boxes]} such groups" in stated("docs/recipes.md")
    assert told("rows held") == (f"{4 * constant('r2d2.engine.recipes.sample.HELD_ROWS'):,}",)
    assert math.exp(-constant("r2d2.engine.recipes.row_order.SURPRISING")) < 1e-8
    assert "less than once in 10⁸" in stated("docs/recipes.md")
    assert constant("r2d2.formats.parquet.read.SLICE_ROWS") == 1 << 20 and "or a million rows" in stated(
        "docs/how-it-works.md"
    )


def test_the_pace_of_progress_is_as_the_docs_say() -> None:
    assert constant("r2d2.cli.time_left.WINDOW_SECONDS") == 30 and told("pace window")
    assert told("pace of news") == (IN_WORDS[round(1 / constant("r2d2.engine.run.udp_progress.SECONDS_BETWEEN"))],)


def test_a_sample_with_a_guarantee_has_the_rows_that_the_docs_say() -> None:
    rows = constant("r2d2.steps.prune_by_content.rows_to_sample")(missing_share=0.1, risk=0.05)
    assert told("rows sampled") == (str(rows),)


def test_a_row_takes_the_bytes_in_an_exchange_that_the_docs_say() -> None:
    rows = 10_000
    hashes = np.arange(2 * rows, dtype=np.uint64).reshape(2, rows)
    packed = sum(len(piece) for _, pieces in pack_rows(hashes, ranges=1) for piece in pieces)
    assert told("bytes a row") == (f"{packed / rows:.0f}",)


def test_the_code_that_travels_is_as_small_as_the_docs_say() -> None:
    (kilobytes,) = told("shipped code")
    assert len(packed_source()[1]) < 1000 * int(kilobytes)


def test_a_cut_file_is_called_so_in_the_words_of_the_docs(tmp_path: Path) -> None:
    (size,) = told("cut file")
    file = tmp_path / "part-0.parquet"
    file.write_bytes(b"PAR1".ljust(int(size.replace(",", ""))))
    with pytest.raises(TableError) as refused:
        constant("r2d2.formats.parquet.footer.read_footer")(str(file))
    assert " ".join(str(refused.value).split()) in stated("docs/operations.md")


def test_java_and_spark_are_those_that_the_docs_name() -> None:
    page = stated("docs/operations.md")
    (spark,) = set(re.findall(r"[Ww]ith Spark (\d\.\d)\b", page))
    assert pyspark.__version__.startswith(f"{spark}.")
    oldest, newest = constant("r2d2.engine.spark.java._suitable_versions")()
    assert f"With Spark {spark} it must be Java {oldest} to {newest}" in page


def test_the_decimals_that_are_never_deleted_are_those_that_spark_cannot_read() -> None:
    (digits,) = told("decimals")
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
    meaning = {
        "NONE": "metadata only",
        "SAMPLED": "sampled rows",
        "COMPARED": "every row compared",
        "EQUAL": "equal tables",
        "IMPLIED": "follows from others",
    }
    checks = constant("r2d2.model.graph.Check")
    assert told("checks") == (", ".join(f"{check.value} {meaning[check.name]}" for check in checks),)
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
    assert found == [f"{gigabytes}g" for gigabytes in told("driver memory")]


def test_python_is_the_one_that_the_package_asks_for() -> None:
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    for page in ("README.md", "CONTRIBUTING.md"):
        assert f"Python {asked.removeprefix('>=')} or newer" in stated(page)


def test_the_figures_of_the_demo_are_those_that_it_finds(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    shown = CliRunner().invoke(cli, ["demo", "--folder", str(folder)], catch_exceptions=False).stdout
    scan = StateStore(folder / "state").load()
    assert scan.schema_graph is not None and scan.graph is not None
    left = {line.step: line.left for line in scan.funnel}
    counts = scan.schema_graph.operations
    operations = (counts.tables, counts.families, counts.brute_force, counts.clusters, counts.index)
    answer = explain(scan, parent="crm/customers.parquet", child="customers_latest_for_report")
    samples = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith(" archive/")]
    assert len(samples) == 4 and not [line for line in samples if not is_shown(line, shown)]
    given = [
        *shown.split(),
        *" ".join(samples).split(),
        f"make a lake of {left['profile']} tables",
        sum_of_the_readme(shown),
        *(f"{step.check}: {step.verdict}, {step.because}" for step in answer.trail),
        f"{left['profile']} tables, {left['build_schema_graph']} pairs by schema, {left['prune_by_minmax']} after ranges,",
        f"{left['verify_containment']} proven; exactly the {len(lake_truth(folder / 'lake'))} that comparing",
        f"| the demo | {' | '.join(f'{count:,}' for count in operations)} |",
        f'`"tables": {left["profile"]}` and `"edges": {left["verify_containment"]}`',
    ]
    for page, pattern in OF_DEMO:
        found = set(re.findall(pattern, stated(page)))
        assert found and found <= set(re.findall(pattern, " ".join(given))), pattern
    assert set(scan.graph.edges()) == {(edge.parent, edge.child) for edge in lake_truth(folder / "lake")}


def sum_of_the_readme(shown: str) -> str:
    """The sum that the README invites to check, from the figures of the demo."""
    (megabytes,) = re.findall(r"tables may go: ([\d.]+) MB", shown)
    (storage,) = re.findall(r"A month: storage ([\d.]+) USD", shown)
    gib, price = float(megabytes) * 1e6 / 2**30, load_prices("azure").storage_per_gib_month
    assert f"{gib * price:.2g}" == f"{float(storage):.2g}"
    return f"{megabytes} MB are {gib:.2g} GiB; times {price:g} USD, that is the {storage} USD of storage"


def test_the_share_of_a_parent_that_a_probe_may_read_is_the_one_in_the_docs() -> None:
    assert constant("r2d2.steps.prune_by_content.WITHIN") == 1 / 8
    page = stated("docs/how-it-works.md")
    assert "no more than an eighth of a parent's bytes" in page and "in fewer than eight slices" in page


def held() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Words of a page whose figures a test above holds."""
    yield from ((page, re.compile(re.escape(words))) for page, words in OF_SETTINGS)
    for page, _, words in OF_CONSTANTS:
        yield page, re.compile(re.sub(r"\\{.*?\\}", r"[\\d.,]+", re.escape(words)))
    yield from ((page, re.compile(pattern)) for page, pattern in (*TOLD.values(), *OF_DEMO))


def without_source(page: Path) -> list[str]:
    """Figures of a page that no test holds and that are in no result file that their block links to."""
    name = str(page.relative_to(ROOT))
    patterns = [pattern for of, pattern in held() if of == name]
    lost = []
    for block in blocks(page):
        spans = [found.span() for pattern in patterns for found in pattern.finditer(block.text)]
        known = {number for path in block.results for number in numbers(path)}
        for figure in block.figures:
            is_held = any(start <= figure.start and figure.end <= end for start, end in spans)
            if not is_held and not is_among(figure, known):
                lost.append(block.text[max(0, figure.start - 30) : figure.end + 10])
    return lost


# The reference is compared with the program as a whole, see test_docs.py.
PAGES = [ROOT / "README.md", *sorted({*DOCS.rglob("*.md")} - {DOCS / "cli-reference.md"})]
RECORDS = sorted((DOCS / "decisions").glob("0*.md"))


@pytest.mark.parametrize("page", [page for page in PAGES if page not in RECORDS], ids=lambda page: page.name)
def test_every_figure_of_a_page_is_tested_or_in_a_linked_result(page: Path) -> None:
    assert not without_source(page), "hold it in this file, link to a file in benchmarks/results, or leave it out"


@pytest.mark.parametrize("page", RECORDS, ids=lambda page: page.name)
def test_a_record_with_other_figures_says_when_and_how_they_were_measured(page: Path) -> None:
    source = re.search(r"^\*Figures of \d{4}-\d\d-\d\d[^*]*\*$", page.read_text(), re.MULTILINE)
    if lost := without_source(page):
        assert source, f"when and how was this measured? {lost}"
    if source:
        targets = re.findall(r"`make ([a-z-]+)`", source[0])
        assert targets or "by hand" in source[0]
        assert all(re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE) for target in targets)


def test_a_figure_without_a_source_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "It takes 5 s, three times as long, for 1,000 small tables of 1.5 GB, `--rows 7 s` in Java 17.\n\n"
        "| lake | seconds |\n| --- | --- |\n| ours | 36 |\n\n- 1\n- 2 %\n\n```json\n9 s\n```\n\n```\n8 kB\n```\n"
    )
    found = [figure.text for block in blocks(page) for figure in block.figures]
    assert found == ["5 s", "three times", "1,000 small tables", "1.5 GB", "36", "2 %", "8 kB"]


def test_a_figure_beside_a_link_is_one_of_the_result_file(tmp_path: Path) -> None:
    folder = tmp_path / "benchmarks" / "results"
    folder.mkdir(parents=True)
    (folder / "a.json").write_text(
        '{"date": "2026-11-16", "bytes": 1819083696, "rows": [{"seconds": 35.6, "gap": 0.079}]}'
    )
    page = tmp_path / "page.md"
    page.write_text("36 s, 8 %, 1.8 GB; 16 s, 35 s, 2 GB, 2.0 GB and 7 ([figures](benchmarks/results/a.json)).\n")
    (block,) = blocks(page)
    known = {number for path in block.results for number in numbers(path)}
    assert [figure.text for figure in block.figures if is_among(figure, known)] == ["36 s", "8 %", "1.8 GB", "2 GB"]
    assert [figure.text for figure in block.figures if not is_among(figure, known)] == ["16 s", "35 s", "2.0 GB", "7"]
