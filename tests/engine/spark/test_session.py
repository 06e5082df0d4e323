"""A session that we did not start is neither stopped nor changed, whoever asks for it."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from r2d2.engine.spark import session as session_module
from r2d2.engine.spark.session import LazySession, open_session
from r2d2.errors import UserError
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


def test_a_session_may_be_started_meanwhile_and_is_closed_even_if_nobody_asks_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events: list[str] = []

    @contextmanager
    def opening(settings: Settings, *, works: bool) -> Iterator[str]:
        time.sleep(0.2)
        assert not works
        events.append("open")
        yield "session"
        events.append("closed")

    monkeypatch.setattr(session_module, "open_session", opening)
    with LazySession(Settings()) as asked:
        asked.begin()
        assert asked.is_open and not events
        assert asked() == asked() == "session" and asked.seconds < 5
    with LazySession(Settings()) as not_asked:
        not_asked.begin()
    with LazySession(Settings()) as never_begun:
        assert not never_begun.is_open
    assert events == ["open", "closed"] * 2


def test_a_session_that_fails_to_start_meanwhile_is_told_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(settings: Settings, *, works: bool) -> Any:
        raise UserError("no Java")

    monkeypatch.setattr(session_module, "open_session", failing)
    with LazySession(Settings()) as session:
        session.begin()
        with pytest.raises(UserError, match="no Java"):
            session()
