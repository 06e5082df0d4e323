"""What Spark's long error texts mean, in one sentence, where the user can do something about it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from r2d2.errors import UserError

WORKER_DIED = "Python worker exited unexpectedly"  # how Spark puts it

_Sentence = Callable[["re.Match[str]"], tuple[str, str]]
_PACKAGES = "install numpy, polars, pyarrow and pandas for the Python that the workers run; docs/operations.md says how"


def worker_died(error: BaseException) -> bool:
    """Whether what a job read killed a worker; Spark's own text may stand behind a sentence of ours."""
    return WORKER_DIED in str(error.__cause__ or error)


def in_words(error: BaseException) -> UserError | None:
    """The sentence for an error of Spark's, or None if it is not one that we know."""
    text = f"{type(error).__name__}: {error}"
    for pattern, sentence in _KNOWN:
        found = re.search(pattern, text)
        if found:
            because, hint = sentence(found)
            return UserError(because, hint=hint)
    return None


def _version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _fixed(because: str, hint: str) -> _Sentence:
    return lambda found: (because, hint)


_GONE = _fixed(
    "the cluster has ended our application", "its master or the person in charge did; its logs say why. Then scan again"
)
_CUT_OFF = _fixed(
    "the connection to the Spark Connect server was lost", "is the server still running? Start it and scan again"
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
        WORKER_DIED,
        _fixed(
            "Python on a worker was killed while it read tables, and no file is to blame",
            "most often it wanted more memory than there is: fewer cores for each worker, or more memory",
        ),
    ),
    (
        r"maxResultSize",
        _fixed(
            "the results are larger than this session takes",
            "start the session with a larger spark.driver.maxResultSize, or with 0, which is no limit",
        ),
    ),
    (r"Context was shut ?down|on a stopped \w*Context|Master removed our application|unresponsive", _GONE),
    (r"StatusCode\.UNAVAILABLE|SESSION_NOT_FOUND|SESSION_CHANGED|SESSION_CLOSED|RetriesExceeded", _CUT_OFF),
    (
        r"Py4JNetworkError|ConnectionRefusedError|Answer from Java side is empty",
        _fixed("Spark's own process on this machine has ended", "it may need more memory: --driver-memory"),
    ),
)
