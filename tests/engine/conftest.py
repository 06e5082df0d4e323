"""A cluster, a Connect server and a Python without r2d2, for the tests of what runs elsewhere."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import venv
from collections.abc import Iterator

import pytest

from tests.support.cluster import Cluster, connect_server, spark_cluster


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python that has all the packages of this one, r2d2 excepted, as a worker of a cluster may."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False, symlinks=True)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    packages = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site_packages / "others.pth").write_text("\n".join(sorted(packages)))  # a .pth file in there is not followed
    python = str(folder / "bin" / "python")
    without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    asked = "import importlib.util as u; print([u.find_spec(n) is not None for n in ('polars', 'pyspark', 'r2d2')])"
    done = subprocess.run([python, "-c", asked], env=without, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[True, True, False]"
    return python


@pytest.fixture(scope="module")
def cluster(bare_python: str) -> Iterator[Cluster]:
    with spark_cluster(2, memory="1g", python=bare_python) as started:
        yield started


@pytest.fixture(scope="module")
def remote(bare_python: str) -> Iterator[str]:
    with connect_server("local[2]", python=bare_python) as (url, _):
        yield url
