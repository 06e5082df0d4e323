"""A ratchet for plain English: docstrings that open with a question word may only become fewer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).parent.parent / "src" / "r2d2"
MOST = 0  # lower it when there are fewer; never raise it
_RIDDLE = re.compile(r"\s*(what|who|which|whoever|whatever|whose)\b", re.IGNORECASE)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def riddles(source: str) -> Iterator[int]:
    """Lines of the things whose docstring opens with a question word."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _DOCUMENTED) and _RIDDLE.match(ast.get_docstring(node) or ""):
            yield getattr(node, "lineno", 1)


def test_a_docstring_begins_with_a_verb_or_with_the_noun_it_returns() -> None:
    found = [
        f"{path.relative_to(SRC)}:{line}" for path in sorted(SRC.rglob("*.py")) for line in riddles(path.read_text())
    ]
    assert len(found) <= MOST, f"{len(found)} docstrings open with what, who, which …: " + ", ".join(found)


def test_a_riddle_is_noticed() -> None:
    assert list(riddles('def f():\n    """What it does."""\n')) == [1]
    assert list(riddles('"""Whose it is."""\n')) == [1]
    assert not list(riddles('def f():\n    """Return the rows whose hash is even."""\n'))
