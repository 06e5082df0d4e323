"""Shapes that others rely on: each `--json` document, and what lies on disk, held against files in tests/golden.

One story takes a lake through every command. What differs from run to run (times, paths, hashes) is reduced to its type;
recipes and digests of contents are kept as they are, since a plan or journal of yesterday must mean the same today.
`GOLDEN=write pytest tests/cli/test_shapes.py` writes the files again; review the difference before you commit it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Command
from tests.cli.test_apply import AT_ONCE, PLAN, nasty, put

GOLDEN = Path(__file__).parent.parent / "golden"
_WORDS = ("kind", "step", "unit", "change", "state", "by", "verdict", "check", "origin", "risk", "recipe")


def shape(value: Any, key: str = "") -> Any:
    """A JSON value with its types instead of its values; words from a fixed list stay."""
    if isinstance(value, dict):
        return {name: shape(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return sorted(_unlike(shape(item) for item in value), key=json.dumps)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return value if key in _WORDS and not {"/", ":"} & set(value) else "text"
    return "number"


def _unlike(shapes: Iterable[Any]) -> list[Any]:
    """Each shape once; objects of the same keys become one, with all that their values can be."""
    merged: list[Any] = []
    for one in shapes:
        like = next((other for other in merged if isinstance(other, dict) and _same_keys(one, other)), None)
        if like is not None:
            for name in like:
                like[name] = _either(like[name], one[name])
        elif one not in merged:
            merged.append(one)
    return merged


def _same_keys(one: Any, other: Any) -> bool:
    return isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys()


def _either(one: Any, other: Any) -> Any:
    if one == other:
        return one
    if isinstance(one, dict) and _same_keys(one, other):
        return {name: _either(one[name], other[name]) for name in one}
    if isinstance(one, list) and isinstance(other, list):
        return sorted(_unlike([*one, *other]), key=json.dumps)
    if isinstance(one, str) and isinstance(other, str):
        return " or ".join(sorted({*one.split(" or "), *other.split(" or ")}))
    return sorted(_unlike([one, other]), key=json.dumps)


@dataclass
class Story:
    """Runs commands and keeps the shape of what each says."""

    r2d2: Command
    state: Path
    told: dict[str, Any] = field(default_factory=dict)

    def __call__(self, name: str, *arguments: str | Path, code: int = 0, keep: bool = True) -> Any:
        command, *rest = arguments
        words = [*command.split(), *rest] if isinstance(command, str) else [command, *rest]
        done = self.r2d2(*words, "--state", self.state, "--json")
        assert done.code == code, (arguments, done.out, done.err)
        said = json.loads(done.out)
        if keep:
            self.told[name] = shape(said)
        return said


@pytest.fixture(scope="session")
def told(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Every command once, on a small lake; then what lies on disk."""
    from r2d2.cli.main import cli, run
    from tests.cli.conftest import Done

    def r2d2(*arguments: str | Path) -> Done:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(lambda: cli.main(args=[str(a) for a in arguments], prog_name="r2d2", standalone_mode=False))
        return Done(code, out.getvalue(), err.getvalue())

    folder = tmp_path_factory.mktemp("shapes")
    lake, state, plan = folder / "lake", folder / "state", folder / "plan.json"
    table = nasty()
    put(table, lake / "orders", files=3)
    put(table.slice(0, 22), lake / "some" / "part-0.parquet")
    put(table.select(["id", "kind"]), lake / "narrow.parquet")
    put(table.slice(0, 9).select(["id", "kind"]), folder / "incoming.parquet")
    (lake / "broken.parquet").write_bytes(b"PAR1 and no more")
    tell = Story(r2d2, state)
    settle()
    tell("scan", "scan", lake, code=1)
    (lake / "broken.parquet").unlink()
    put(table.slice(0, 30), lake / "late.parquet")
    settle()
    tell("update", "update")
    tell("edges", "edges", "--all")
    tell("explain", "explain", "orders", "late.parquet")
    tell("find", "find", folder / "incoming.parquet", code=1)
    tell("recipe infer", "recipe infer")
    tell("recipe show", "recipe show", "orders", "narrow.parquet")
    tell("recipe set", "recipe set", "orders", "narrow.parquet", "SELECT id, kind FROM parent")
    tell("recipe forget", "recipe forget", "orders", "narrow.parquet")
    tell("plan", "plan", "--out", plan, *PLAN)
    tell.told["plan file"] = plan_on_disk(json.loads(plan.read_text()))
    number = str(len(json.loads(plan.read_text())["entries"]))
    tell("apply --dry-run", "apply", plan, "--dry-run", *AT_ONCE)
    tell("apply", "apply", plan, "--yes-delete", number, *AT_ONCE)
    tell("status", "status")
    tell("drill", "drill")
    tell("doctor", "doctor")
    tell("purge", "purge", "--retention", "0")
    tell("update with deleted tables", "update")
    tell("restore", "restore", "--all")
    tell.told["journal"] = journal_on_disk(lake / ".r2d2-safety" / "journal.jsonl")
    tell.told["state"] = state_on_disk(state)
    return tell.told


def settle() -> None:
    """Let the clock go on: a file that is listed within the clock's grain of being written counts as in doubt."""
    time.sleep(0.2)


def plan_on_disk(plan: dict[str, Any]) -> Any:
    """The plan's shape, and the recipes and digests that must mean the same for ever."""
    frozen = {}
    for entry in plan["entries"]:
        recipe = entry["recipe"]
        recipe["child"]["schema"] = "text"  # Arrow's bytes are the library's affair
        frozen[entry["child"]["name"]] = {"recipe": recipe, "expected": entry["expected"]}
    return {"version": plan["version"], "shape": shape(plan), "frozen": frozen}


def journal_on_disk(path: Path) -> Any:
    """A line's own fields, and the shape of each kind of record."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    kinds: dict[str, Any] = {}
    for line in lines:
        record = shape(line["record"])
        kind = record["kind"]
        kinds[kind] = _either(kinds[kind], record) if kind in kinds else record
    return {"line": sorted({name for line in lines for name in line}), "records": kinds}


def state_on_disk(state: Path) -> Any:
    run = state / "runs" / (state / "current").read_text().strip()
    recipes = [json.loads(path.read_text()) for path in sorted((state / "recipes").glob("*.json"))]
    return {
        "files": sorted(path.name for path in run.iterdir()),
        "folders": sorted(path.name for path in state.iterdir() if path.is_dir()),
        "format": json.loads((state / "format.json").read_text()),
        "columns": {
            path.name: {column.name: str(column.type) for column in pq.read_schema(path)}
            for path in sorted(run.glob("*.parquet"))
        },
        "run.json": shape(json.loads((run / "run.json").read_text())),
        "recipes": sorted(_unlike(shape(one) for one in recipes), key=json.dumps),
    }


NAMES = (
    "scan", "update", "edges", "explain", "find", "recipe infer", "recipe show", "recipe set", "recipe forget", "plan",
    "plan file", "apply --dry-run", "apply", "status", "drill", "doctor", "purge", "update with deleted tables",
    "restore", "journal", "state",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_what_others_rely_on_keeps_its_shape(told: dict[str, Any], name: str) -> None:
    path = GOLDEN / f"{name.replace(' --', '-').replace(' ', '-')}.json"
    text = json.dumps(told[name], indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text(), "if this is meant, see the first lines of this file, and docs/json.md"


def test_every_shape_of_the_story_is_held_against_a_file(told: dict[str, Any]) -> None:
    assert set(told) == set(NAMES)
