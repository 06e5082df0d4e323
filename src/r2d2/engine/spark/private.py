"""Start the embedded Spark so that other users of the machine cannot reach it, and no file of the working folder runs.

Spark opens ports for its own messages and blocks, which without authentication answer any user of the machine
(HAZARDS 42). Python workers would import modules from the working folder, and PySpark would use a Spark in the folder
above it (HAZARDS 41).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SAFE_PATH = "PYTHONSAFEPATH"

# For sessions on this machine only: Spark then generates a secret, which never leaves the JVM. Clusters have their own.
AUTHENTICATED = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.saslFallback": "false",
}


@contextmanager
def started_apart() -> Iterator[None]:
    """Make a JVM that starts inside the block use the installed Spark, and its Python ignore the working folder."""
    wanted = {SAFE_PATH: "1"}
    home = installed_spark()
    if home is not None and "SPARK_HOME" not in os.environ:
        wanted["SPARK_HOME"] = str(home)
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def installed_spark() -> Path | None:
    """The Spark that comes with PySpark. By itself PySpark would look in the folder above the working folder first."""
    import pyspark

    package = Path(pyspark.__file__).parent
    homes = (package / "spark-distribution", package, package.parent.parent)
    return next((home for home in homes if (home / "bin" / "spark-submit").is_file()), None)
