"""Open the Spark session: an embedded one with settings that fit the machine, a cluster's, or the caller's own.

A borrowed session is never stopped or reconfigured.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from r2d2.engine.spark.background import apart, begin
from r2d2.engine.spark.class_archive import archive_options, discard_archive
from r2d2.engine.spark.cluster import works_here
from r2d2.engine.spark.codegen import OURS, UNCOMPILED
from r2d2.engine.spark.connect import check_master, reach
from r2d2.engine.spark.failures import in_words, java_is_gone, words_for
from r2d2.engine.spark.java import suitable_java
from r2d2.engine.spark.jobs import PATIENCE
from r2d2.engine.spark.machine import memory_bytes
from r2d2.engine.spark.private import AUTHENTICATED, SAFE_PATH, started_apart
from r2d2.errors import UserError
from r2d2.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

_QUIET_LOG = """\
# Failures of jobs are raised in Python; most other errors that Spark logs come from Ctrl-C.
rootLogger.level = fatal
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c{1}: %m%n
# The Python gateway's own level: where it differs from the root's, Spark announces that it changes it.
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = fatal
"""
_FAIR_POOL = '<allocations><pool name="default"><schedulingMode>FAIR</schedulingMode></pool></allocations>'
_SOCKET_FOLDER_LENGTH = 60  # the system's limit for a socket's whole path is 104 to 108; PySpark's names take 42
_START = "docs/operations.md says what Spark and a cluster need"
_SAID = "java.log"  # in the scratch folder: output of the Java process


@contextmanager
def open_session(
    settings: Settings, given: SparkSession | None = None, *, works: bool = False
) -> Iterator[SparkSession]:
    """Open a session; stop it at the end only if it was started here.

    *works*: Spark's own operators process rows, as in the second reader, so Java's C2 compiler is enabled. Otherwise
    Spark only moves blocks that Python made.
    """
    if given is not None:
        yield given
        return
    session, ours = _remote(settings) if settings.remote else _embedded(settings, works)
    try:
        yield session
    except Exception as error:
        if java_is_gone(error):
            raise in_words(error) or error from error
        raise
    finally:
        if ours:
            _stop(session)


def _stop(session: SparkSession) -> None:
    try:
        apart(session.stop)  # this thread's connection to the JVM may wait for a call that Ctrl-C interrupted
    except Exception as error:
        if not java_is_gone(error):  # Java has ended already
            raise


class LazySession:
    """A session that is opened on first use, and closed at the end if it was started here."""

    def __init__(self, settings: Settings, given: SparkSession | None = None, *, works: bool = False) -> None:
        self._works = works
        self._open = ExitStack()
        self._settings = settings
        self._session = given
        self._starting: Future[SparkSession] | None = None
        self.seconds = 0.0  # time spent waiting for its start

    def begin(self) -> None:
        """Start the session in the background, if it is not open yet."""
        if not self.is_open:
            self._starting = begin(lambda: self._open.enter_context(open_session(self._settings, works=self._works)))

    def __call__(self) -> SparkSession:
        """The session."""
        if self._session is None:
            begun = time.perf_counter()
            self.begin()
            assert self._starting is not None
            self._session = self._starting.result()
            self.seconds = time.perf_counter() - begun
        return self._session

    @property
    def is_open(self) -> bool:
        """Whether the session was given, or its start has begun."""
        return self._session is not None or self._starting is not None

    def __enter__(self) -> LazySession:
        return self

    def __exit__(self, *error: Any) -> None:
        if self._starting is not None:
            wait([self._starting])  # a half-started JVM would never end
        self._open.__exit__(*error)


def _import_spark() -> type[SparkSession]:
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise UserError("PySpark is not installed", hint="pip install 'r2d2-lake[local]'") from error
    return SparkSession


def _remote(settings: Settings) -> tuple[SparkSession, bool]:
    """Open a new session at a Spark Connect server: `getOrCreate` might return one that is not ours to stop."""
    _import_spark()
    try:
        from pyspark.sql.connect.session import SparkSession as ConnectSession
    except ImportError as error:  # raised by PySpark if grpc or a related package is missing
        raise UserError(
            "packages that a Spark Connect client needs are missing", hint="pip install 'r2d2-lake[connect]'"
        ) from error
    return reach(settings.remote, lambda: ConnectSession.builder.remote(settings.remote).create()), True


def _embedded(settings: Settings, works: bool) -> tuple[SparkSession, bool]:
    builder = _import_spark()
    running = _running(builder)
    if running is not None:  # a notebook, a caller's own
        return running, False
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit: its master and settings apply
        return _started(builder.builder.getOrCreate, None), True
    check_master(settings.master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # or workers take whatever python3 is on the PATH
    _hush()
    try:
        scratch = Path(tempfile.mkdtemp(prefix="r2d2-spark-"))
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
        with suitable_java(scratch / _SAID) as java, started_apart():
            archive = archive_options(java) if settings.class_archive else []
            start = partial(_start_embedded, builder, settings, scratch, works)
            try:
                return start(archive), True
            except UserError:
                if not discard_archive(archive):
                    raise
                return start([]), True  # a damaged archive makes Java crash
    except OSError as error:  # a full disk
        raise in_words(error) or error from error


def _start_embedded(
    sessions: type[SparkSession], settings: Settings, scratch: Path, works: bool, archive: list[str]
) -> SparkSession:
    configured = sessions.builder.master(settings.master).appName("r2d2")
    for name, value in _configuration(settings, scratch, works, archive).items():
        configured = configured.config(name, value)

    def start() -> SparkSession:
        session = configured.getOrCreate()
        if not works and works_here(session):
            _start_python(session)
        return session

    return _started(start, scratch / _SAID)


def _start_python(session: SparkSession) -> None:
    """Run a job of one row, for which Spark starts the daemon that forks Python workers."""
    session.range(1, numPartitions=1).mapInArrow(_as_they_are, "id long").collect()


def _as_they_are(batches: Iterable[T]) -> Iterable[T]:
    return batches


def _started(start: Callable[[], SparkSession], said: Path | None) -> SparkSession:
    """The session, once it runs. Ctrl-C waits for that as well: a half-started JVM would never end."""
    starting = begin(start)
    try:
        return starting.result()
    except KeyboardInterrupt:
        starting.result().stop()
        raise
    except Exception as error:
        raise _did_not_start(error, said.read_text(errors="replace") if said and said.exists() else "") from error


def _did_not_start(error: Exception, said: str) -> UserError:
    """The error for a Spark that did not start; Java's output is preferred to the mere fact that it has ended."""
    causes = re.findall(
        r"^(?:Caused by|Exception in thread \S+)?:? ?([\w.$]+(?:Exception|Error): .*)", f"{error}\n{said}", re.M
    )
    lines = [*causes[-1:], *filter(None, said.splitlines()), *str(error).splitlines(), type(error).__name__]
    has_ended = java_is_gone(error) or "JAVA_GATEWAY_EXITED" in str(error)
    told = words_for(said) or (None if has_ended and said.strip() else in_words(error))
    return told or UserError(f"Spark did not start: {lines[0]}", hint=_START)


@cache
def _hush() -> None:
    """Keep PySpark's accumulator server and Py4J from printing a traceback when the JVM has ended.

    Nor is the server waited for: it looks once a second whether it shall end.
    """
    import socketserver

    from pyspark import accumulators

    for server in vars(accumulators).values():
        if isinstance(server, type) and issubclass(server, socketserver.BaseServer):
            server.handle_error = lambda *about: None  # type: ignore[method-assign]
            server.shutdown = _in_the_background(server.shutdown)  # type: ignore[method-assign, assignment]
    logging.getLogger().addFilter(_is_no_complaint_of_py4j)  # it logs to the root logger errors that it also raises


def _in_the_background(stop: Callable[[T], None]) -> Callable[[T], None]:
    def run(server: T) -> None:
        begin(partial(stop, server))

    return run


def _is_no_complaint_of_py4j(record: logging.LogRecord) -> bool:
    return os.path.basename(os.path.dirname(record.pathname)) != "py4j"


def _running(sessions: type[SparkSession]) -> SparkSession | None:
    """The session that this process has already, even if another thread started it."""
    from pyspark.errors import PySparkRuntimeError

    try:
        return sessions.active()
    except PySparkRuntimeError:  # no session
        return None


def _configuration(settings: Settings, scratch: Path, works: bool, archive: list[str]) -> dict[str, str]:
    log = scratch / "log4j2.properties"
    log.write_text(_QUIET_LOG)
    local = settings.master.startswith("local")
    report = f"-XX:ErrorFile={scratch / 'crash.log'}"  # by default it goes to the user's folder
    options = ["-XX:+UseSerialGC", report, f"-Dlog4j2.configurationFile={log.as_uri()}", f"-Djava.io.tmpdir={scratch}"]
    if not works:
        options.append("-XX:TieredStopAtLevel=1")  # C2 does not pay off for a JVM that only moves blocks
    options += archive
    there = _on_a_cluster(settings, scratch)
    here = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.python.daemon.module": "r2d2.engine.spark.worker_daemon",
        **AUTHENTICATED,
    }
    if len(str(scratch)) < _SOCKET_FOLDER_LENGTH:
        here |= {
            "spark.python.unix.domain.socket.enabled": "true",  # a task over TCP waits 20 ms for acknowledgements
            "spark.python.unix.domain.socket.dir": str(scratch),
        }
    return (here if local else there) | {
        f"spark.executorEnv.{SAFE_PATH}": "1",
        "spark.ui.enabled": "false",  # it is open to all and can kill jobs (HAZARDS 37)
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": settings.driver_memory or _driver_memory(),
        "spark.driver.maxResultSize": "0",
        "spark.driver.extraJavaOptions": " ".join(options),
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.caseSensitive": "true",  # columns are matched by their exact names
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",  # otherwise listing 33 files takes a job
        "spark.sql.adaptive.enabled": "false",  # work is already packed; re-planning only adds jobs
        "spark.shuffle.sort.bypassMergeThreshold": "1",  # a file for each group of blocks costs more than sorting them
        "spark.shuffle.compress": "false",  # shuffled hashes do not compress
        "spark.shuffle.spill.compress": "false",
        **UNCOMPILED,  # a plan runs once: compiling it takes longer than running it, except for large work
        OURS: "true",
    }


def _on_a_cluster(settings: Settings, scratch: Path) -> dict[str, str]:
    """Settings for a cluster: fair scheduling lets the tiny job that checks for workers overtake a long one."""
    pools = scratch / "pools.xml"
    pools.write_text(_FAIR_POOL)
    return {
        "spark.scheduler.mode": "FAIR",
        "spark.scheduler.allocation.file": pools.as_uri(),
        PATIENCE: str(settings.worker_timeout),
    }


def _driver_memory() -> str:
    """A quarter of the machine's memory, 1 to 4 GB: the JVM only moves blocks, Python workers do the work."""
    return f"{min(4, max(1, (memory_bytes() or 0) // 4 // 2**30))}g"
