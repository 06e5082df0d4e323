"""Check quickly, before any work, whether a cluster or a Spark Connect server can be reached."""

from __future__ import annotations

import os
import socket
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from r2d2.engine.spark.background import begin
from r2d2.errors import UserError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REACH_SECONDS = 30.0
_MASTER_SECONDS = 10.0
_MOST_RETRIES = 8  # of Spark Connect: about two minutes until a silent server counts as lost


def check_master(master: str) -> None:
    """Raise UserError if nobody listens at *master*, or if Spark would not know where YARN is."""
    if master.startswith("spark://") and not any(map(_listens, master[len("spark://") :].split(","))):
        raise UserError(
            f"no Spark master answers at {master}",
            hint="is it running, and is this its address? It listens on port 7077 unless told otherwise",
        )
    if master == "yarn" and not (os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR")):
        raise UserError(
            "Spark cannot know where YARN is: HADOOP_CONF_DIR is not set",
            hint="set it to the folder that holds yarn-site.xml",
        )


def _listens(address: str) -> bool:
    try:
        parts = urlsplit(f"//{address}")
        with socket.create_connection((parts.hostname or "", parts.port or 7077), timeout=_MASTER_SECONDS):
            return True
    except (OSError, ValueError):  # ValueError for a port that is not a number
        return False


def reach(url: str, connect: Callable[[], Any]) -> SparkSession:
    """The session that *connect* opens at a Spark Connect server, once the server has answered."""
    from pyspark.errors import PySparkException

    try:
        return begin(lambda: _answered(connect())).result(REACH_SECONDS)
    except TimeoutError as error:
        raise _unreachable(url, f"no answer in {REACH_SECONDS:g} seconds") from error
    except PySparkException as error:
        raise _unreachable(url, _gist(error)) from error


def _answered(session: Any) -> SparkSession:
    """The session, after one request to the server, sent without retries; later requests are retried for a while."""
    client = session.client
    if not hasattr(client, "set_retry_policies"):  # Spark 3.5
        _ = session.version
        return cast("SparkSession", session)
    policies = client.get_retry_policies()
    client.set_retry_policies([])
    _ = session.version
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")  # the error that follows explains it
    for policy in policies:
        policy.max_retries = min(policy.max_retries or _MOST_RETRIES, _MOST_RETRIES)
    client.set_retry_policies(policies)
    return cast("SparkSession", session)


def _unreachable(url: str, because: str) -> UserError:
    return UserError(
        f"cannot use the Spark Connect server {without_secrets(url)}: {because}",
        hint="is it running, and is this its address? It listens on port 15002 unless told otherwise",
    )


def _gist(error: Exception) -> str:
    """The message of a gRPC error, without its frame."""
    lines = [line.strip() for line in str(error).splitlines()]
    details = [line.partition("= ")[2].strip('"') for line in lines if line.startswith("details = ")]
    return (details or lines or [""])[0].rpartition("last error: ")[2].removeprefix("UNKNOWN: ")


def without_secrets(url: str) -> str:
    """An address to print: without user, token and other parameters (HAZARDS 38).

    >>> without_secrets("sc://me:word@host:15002/;token=secret;use_ssl=true")
    'sc://host:15002'
    """
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}"
