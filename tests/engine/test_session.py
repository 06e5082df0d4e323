"""A session that we did not start is neither stopped nor changed, whoever asks for it."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from r2d2.engine.session import open_session
from r2d2.settings import Settings

OTHER = Settings(master="local[1]", driver_memory="2g")


def settings_of(spark: Any) -> dict[str, str]:
    return dict(spark.conf.getAll)


def ask_and_leave(spark: Any, given: Any) -> bool:
    with open_session(OTHER, given) as session:
        return session is spark


@pytest.mark.parametrize("given", [True, False], ids=["given", "found running"])
@pytest.mark.parametrize("thread", ["same", "another"])
def test_a_session_that_runs_is_used_and_left_alone(spark: Any, given: bool, thread: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        before = settings_of(spark)
        if thread == "same":
            used = ask_and_leave(spark, spark if given else None)
        else:
            with ThreadPoolExecutor(1) as pool:
                used = pool.submit(ask_and_leave, spark, spark if given else None).result()
        assert used
        assert settings_of(spark) == before
        assert spark.range(3).count() == 3
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_our_own_session_has_no_page_that_others_could_use(spark: Any) -> None:
    assert spark.conf.get("spark.ui.enabled") == "false"  # HAZARDS 37
    assert spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_our_own_session_leaves_ctrl_c_as_it_is(spark: Any) -> None:
    # Spark would install a handler of its own; one that the shell ignores for us (nohup, &) stays ignored.
    assert signal.getsignal(signal.SIGINT) in (signal.default_int_handler, signal.SIG_IGN)
