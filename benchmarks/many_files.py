"""One folder of thousands of unrelated tables in files that are named like parts: `python -m benchmarks.many_files`.

`python -m benchmarks.many_files 2000` takes so many files. What is asked: is each file a table of its own, are all
planted edges found and no other, and how long does the whole of `r2d2 scan` take, in how much memory?
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.results import save
from benchmarks.scans import scan
from tests.support.many_files import TYPES, Edge, write_folder

FILES = 16_573


def main() -> None:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    rows = [measured(files, types) for types in TYPES]
    save("many-files" if files == FILES else f"many-files-{files}", rows)


def measured(files: int, types: str) -> dict[str, Any]:
    """What one folder took, and what was found in it."""
    with tempfile.TemporaryDirectory(prefix="r2d2-many-files-") as folder:
        lake, state = Path(folder) / "tables", Path(folder) / "state"
        planted = write_folder(lake, files, types=types)
        scanned = scan(lake, state)
        found = edges_in(state)
    said = scanned.answer
    return {
        "files": files,
        "types": types,
        "tables": said["tables"],
        "unreadable": sum(problem["kind"] == "unreadable" for problem in said["problems"]),
        "planted edges": len(planted),
        "missing": len(planted - found),
        "extra": len(found - planted),
        "seconds": round(scanned.seconds, 1),
        **{line["step"]: round(line["seconds"], 1) for line in said["funnel"]},
        **scanned.peaks,
    }


def edges_in(state: Path) -> set[Edge]:
    """The edges of the scan that a state folder keeps."""
    from r2d2.state.store import StateStore

    graph = StateStore(str(state)).load().graph
    return set(graph.edges()) if graph else set()


if __name__ == "__main__":
    main()
