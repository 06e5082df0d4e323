"""Names of modules that stand in texts, where no import would notice that they are gone."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLACES = ("src", "tests", "benchmarks", "docs", "Makefile", "README.md", "pyproject.toml")
_DOTTED = re.compile(r"(?<![.\w])r2d2(?:\.[A-Za-z_]\w*)+")
_FILE = re.compile(r"\bsrc/r2d2/[\w/]+(?:\.\w+)?/?")
# Names that are meant to lead nowhere.
INVENTED = {"r2d2.lake.new", "r2d2.x", "r2d2.toml"}


def texts() -> Iterator[Path]:
    for place in PLACES:
        path = ROOT / place
        found = [path] if path.is_file() else path.rglob("*")
        yield from (file for file in found if file.suffix in (".py", ".md", ".toml", "") and file.is_file())


def leads_somewhere(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        try:
            spec = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            continue
        if spec is not None:
            found = importlib.import_module(module)
            return length == len(parts) or hasattr(found, parts[length])
    return False


def test_every_name_of_ours_in_a_text_leads_somewhere() -> None:
    lost = []
    for path in sorted(set(texts()) - {Path(__file__)}):
        text, where = path.read_text(), path.relative_to(ROOT)
        lost += [f"{where}: {name}" for name in set(_DOTTED.findall(text)) - INVENTED if not leads_somewhere(name)]
        lost += [f"{where}: {name}" for name in set(_FILE.findall(text)) if not (ROOT / name).exists()]
    assert not lost


def test_a_name_that_leads_nowhere_is_noticed() -> None:
    assert leads_somewhere("r2d2.pipeline") and leads_somewhere("r2d2.settings.Settings.state")
    assert not leads_somewhere("r2d2.pipelines") and not leads_somewhere("r2d2.settings.nothing")


def test_no_test_imports_a_benchmark() -> None:
    wrong = [
        path
        for path in (ROOT / "tests").rglob("*.py")
        if re.search(r"^\s*(?:from|import) benchmarks\b", path.read_text(), re.M)
    ]
    assert not wrong, "what tests and benchmarks share lives in tests/support"
