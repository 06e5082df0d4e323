"""Large work is compiled in sessions that are ours, and nobody's settings stay changed."""

from __future__ import annotations

from typing import Any

from r2d2.engine.spark.codegen import OURS, UNCOMPILED, WORTH_BYTES, compiled_if_large


def settings_of(spark: Any) -> dict[str, str]:
    return {name: spark.conf.get(name) for name in UNCOMPILED}


def test_large_work_is_compiled_and_small_work_is_not(spark: Any) -> None:
    assert spark.conf.get(OURS) == "true" and settings_of(spark) == UNCOMPILED
    with compiled_if_large(spark, WORTH_BYTES - 1):
        assert settings_of(spark) == UNCOMPILED
    with compiled_if_large(spark, WORTH_BYTES):
        assert spark.conf.get("spark.sql.codegen.wholeStage") == "true"
    assert settings_of(spark) == UNCOMPILED


def test_a_session_of_somebody_else_stays_as_it_is(spark: Any) -> None:
    theirs = spark.newSession()
    theirs.conf.set(OURS, "")
    theirs.conf.set("spark.sql.codegen.wholeStage", "false")
    before = settings_of(theirs)
    with compiled_if_large(theirs, 1 << 40):
        assert settings_of(theirs) == before
