"""Translate Spark's long error texts into one sentence with a hint, where the user can act."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from r2d2.engine.spark.machine import address_space_limit
from r2d2.errors import EngineEnded, R2D2Error, UserError

WORKER_DIED = "Python worker exited unexpectedly"  # Spark's own words

_Sentence = Callable[["re.Match[str]"], tuple[str, str]]
_PACKAGES = "install numpy, polars, pyarrow and pandas for the Python that the workers run; docs/operations.md says how"


def worker_died(error: BaseException) -> bool:
    """Whether a job killed a Python worker; Spark's own text may be the cause of a translated error."""
    return WORKER_DIED in str(error.__cause__ or error)


def in_words(error: BaseException) -> UserError | None:
    """The translation of an error of Spark; None if it is unknown."""
    return words_for(f"{type(error).__name__}: {error}")


def words_for(text: str) -> UserError | None:
    """The translation of a text of Spark or Java; None if it is unknown."""
    for pattern, sentence in _KNOWN:
        found = re.search(pattern, text)
        if found:
            because, hint = sentence(found)
            return (EngineEnded if sentence in _ENDED else UserError)(because, hint=hint)
    return None


def java_is_gone(error: BaseException) -> bool:
    """Whether the Java process that a classic session talks to has ended."""
    return re.search(_JAVA_ENDED, f"{type(error).__name__}: {error}") is not None


@contextmanager
def java_in_words() -> Iterator[None]:
    """Translate an error that means the end of the Java process, so that no table is blamed for it."""
    try:
        yield
    except Exception as error:
        if isinstance(error, R2D2Error) or not java_is_gone(error):
            raise
        raise in_words(error) or error from error


def memory_is_short(said: str) -> UserError | None:
    """The error for Java's message that memory is short; None for any other message."""
    found = re.search(_NO_MEMORY, said)
    if found is None:
        return None
    because, hint = _short(found)
    return UserError(because, hint=hint)


def _short(found: re.Match[str]) -> tuple[str, str]:
    limit = address_space_limit()
    hint = (
        f"this process may have {limit / 1e9:.1f} GB of address space: allow more with `ulimit -v unlimited`"
        if limit
        else "free some, or give Spark less with --driver-memory"
    )
    return f"there is not enough memory for Spark's Java process ({found[1].strip(' .')})", hint


def _version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _fixed(because: str, hint: str) -> _Sentence:
    return lambda found: (because, hint)


_GONE = _fixed("the cluster has ended the application", "the master's logs say why; then scan again")
_CUT_OFF = _fixed(
    "the connection to the Spark Connect server was lost", "is the server still running? Start it and scan again"
)
_KILLED = _fixed(
    "Spark's Java process ended before its work was done",
    "it was killed, most often because memory ran out: free some, then run this again, in a new process",
)
_ENDED = (_GONE, _CUT_OFF, _KILLED)

_JAVA_ENDED = (
    r"Py4JNetworkError|ConnectionRefusedError|ConnectionResetError|Answer from Java side is empty"
    r"|^Py4JError: An error occurred while calling \S+\Z"  # it has a Java trace if Java still answers
)
_NO_MEMORY = (
    r"(Could not (?:reserve|allocate)[^\n]*|Failed to (?:reserve|allocate)[^\n]*|insufficient memory for the Java[^\n]*"
    r"|unable to create native thread|Cannot allocate memory)"
)
_WORKERS_KILLED = _fixed(
    "Python on a worker was killed while it read tables, and no file causes it",
    "most often memory ran out: use fewer cores for each worker, or give it more memory",
)
_KNOWN: tuple[tuple[str, _Sentence], ...] = (
    (
        r"PYTHON_VERSION_MISMATCH",
        lambda found: (
            f"the workers run another version of Python than this program, which runs {_version()}",
            f"set PYSPARK_PYTHON to a Python {_version()} that every worker has",
        ),
    ),
    (
        r"Cannot run program \"([^\"]*)\"",
        lambda found: (
            f"the workers have no Python at {found[1]}",
            f"set PYSPARK_PYTHON to a Python {_version()} that every worker has",
        ),
    ),
    (
        r"(?:ModuleNotFoundError: No module named|PackageNotFoundError: .*)\W+(?!r2d2)([\w.]+)",
        lambda found: (f"the workers' Python has no package {found[1]}", _PACKAGES),
    ),
    (
        r"PACKAGE_NOT_INSTALLED\] (\w+)",
        lambda found: (f"Python lacks the package {found[1]}, here or on the workers", _PACKAGES),
    ),
    (
        r"ExecutorLostFailure|Could not recover from a failed barrier|FetchFailed",
        _fixed(
            "workers of the cluster were lost again and again while they read tables",
            "their logs say why; often a worker needs more memory: spark.executor.memoryOverhead",
        ),
    ),
    (
        r"No space left on device|Disk quota exceeded",
        lambda found: (
            f"the disk for Spark's temporary files is full: {tempfile.gettempdir()}",
            "free some space there, or set TMPDIR to a folder on a larger disk",
        ),
    ),
    (
        r"OutOfMemoryError: (?!unable to create native)([^\n]*)",
        lambda found: (
            f"Spark's Java process ran out of memory ({found[1].strip(' .')})",
            "give it more with --driver-memory, such as 4g",
        ),
    ),
    (_NO_MEMORY, _short),
    (WORKER_DIED, _WORKERS_KILLED),
    (r"reading the port number from \S+ stdout", _WORKERS_KILLED),  # the process that forks the workers was killed
    (
        r"\bMemoryError\b|ArrowMemoryError|malloc of size \d+ failed",
        _fixed(
            "Python on a worker wanted more memory than there is",
            "use fewer cores, as with --master 'local[1]', or a machine with more memory",
        ),
    ),
    (
        r"UnknownHostException: ([^\s:]+)",
        lambda found: (f"the host {found[1]} is not known", "is the address in --master right?"),
    ),
    (
        r"maxResultSize",
        _fixed(
            "the results are larger than this session allows",
            "start the session with a larger spark.driver.maxResultSize, or with 0 for no limit",
        ),
    ),
    (r"Context was shut ?down|on a stopped \w*Context|Master removed our application|unresponsive", _GONE),
    (r"StatusCode\.UNAVAILABLE|SESSION_NOT_FOUND|SESSION_CHANGED|SESSION_CLOSED|RetriesExceeded", _CUT_OFF),
    (f"{_JAVA_ENDED}|JAVA_GATEWAY_EXITED", _KILLED),
)
