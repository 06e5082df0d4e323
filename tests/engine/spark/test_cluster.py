"""How many tasks fit, as far as a session can tell."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from r2d2.engine.spark.cluster import _ROWS, _parts_of, _slots_promised, parallelism, slots_now, works_here


def session(**conf: str) -> Any:
    """As much of a session as is asked here: its settings."""
    stated = {name.replace("_", "."): value for name, value in conf.items()}
    return SimpleNamespace(conf=SimpleNamespace(get=lambda name, default=None: stated.get(name, default)))


@pytest.mark.parametrize(
    ("master", "tasks"),
    [
        ("local", 1),
        ("local[1]", 1),
        ("local[4]", 4),
        ("local[4,3]", 4),
        ("local[*]", os.cpu_count()),
        ("local[*,2]", os.cpu_count()),
    ],
)
def test_an_embedded_spark_says_how_many_tasks_fit(master: str, tasks: int) -> None:
    assert works_here(session(spark_master=master))
    assert parallelism(session(spark_master=master)) == tasks


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://https://host", "local-cluster[2,1,1024]", ""])
def test_the_workers_of_a_cluster_are_not_here(master: str) -> None:
    assert not works_here(session(spark_master=master))


@pytest.mark.parametrize(
    ("conf", "slots"),
    [
        ({}, 0),
        ({"spark_executor_instances": "5"}, 5),
        ({"spark_executor_instances": "5", "spark_executor_cores": "4"}, 20),
        ({"spark_cores_max": "12"}, 12),
        ({"spark_cores_max": "12", "spark_executor_cores": "4"}, 12),
        ({"spark_executor_instances": "5", "spark_executor_cores": "4", "spark_cores_max": "12"}, 12),
        ({"spark_dynamicAllocation_enabled": "true", "spark_dynamicAllocation_maxExecutors": "30"}, 30),
        ({"spark_dynamicAllocation_enabled": "true", "spark_executor_instances": "2"}, 200),
        ({"spark_dynamicAllocation_enabled": "true", "spark_sql_shuffle_partitions": "64"}, 64),
        ({"spark_executor_instances": "many"}, 0),
    ],
)
def test_what_the_settings_promise(conf: dict[str, str], slots: int) -> None:
    assert _slots_promised(session(**conf)) == slots


def test_spark_itself_is_asked_for_its_cores(spark: Any) -> None:
    assert slots_now(spark) == 2


@pytest.mark.parametrize("parts", [1, 7, _ROWS + 100])
def test_the_answer_holds_for_more_parts_than_there_are_rows(spark: Any, parts: int) -> None:
    assert _parts_of(spark, spark.range(_ROWS, numPartitions=parts)) == parts
