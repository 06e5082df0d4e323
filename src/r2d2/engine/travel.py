"""Our code travels with each job, so that the workers of a cluster need not have r2d2 installed.

The pickled function of a job carries the package's source in front of itself: whoever unpickles it first makes the
package importable and then finds it. Nothing is set on the session and nothing is written on the workers, and what
runs there is the driver's version, whatever is installed.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from r2d2.engine.cluster import works_here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Function = Callable[[Any], Any]


def travelling(spark: SparkSession, function: Function) -> Function:
    """*function*, fit for the workers of *spark*: as it is if they are this machine's, else with our code."""
    return function if works_here(spark) else with_code(function)


def with_code(function: Function) -> Function:
    """*function* as one that brings our code along wherever it is unpickled."""
    from pyspark import cloudpickle

    register: Callable[[Any], None] = cloudpickle.register_pickle_by_value
    register(sys.modules[__name__])  # this module must get there without an import
    cargo = _Cargo(function)

    def run(argument: Any) -> Any:
        return cargo(argument)

    return run


class _Cargo:
    """A function that becomes itself when it is unpickled, after our code has been unpacked."""

    def __init__(self, function: Function) -> None:
        self._function = function

    def __call__(self, argument: Any) -> Any:
        return self._function(argument)

    def __reduce__(self) -> tuple[Any, ...]:
        return itemgetter(1), ((_Code(), self._function),)  # a tuple is unpickled in order: first the code


class _Code:
    """Our source; to unpickle it is to install it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return install, packed_source()


@cache
def packed_source() -> tuple[str, bytes]:
    """A fingerprint of the package's source, and the source itself, compressed."""
    source = json.dumps(dict(sorted(_modules(files("r2d2"), "r2d2")))).encode()
    return hashlib.sha256(source).hexdigest(), zlib.compress(source, 9)


def _modules(folder: Traversable, name: str) -> Iterator[tuple[str, tuple[bool, str]]]:
    """Every module below a package by its full name: whether it is a package itself, and its text."""
    for entry in folder.iterdir():
        stem = entry.name.removesuffix(".py")
        if entry.name == "__init__.py":
            yield name, (True, entry.read_text("utf-8"))
        elif stem != entry.name:
            yield f"{name}.{stem}", (False, entry.read_text("utf-8"))
        elif entry.is_dir() and entry.joinpath("__init__.py").is_file():
            yield from _modules(entry, f"{name}.{entry.name}")


def install(fingerprint: str, packed: bytes) -> None:
    """Make the packed source importable in this process, in place of any other r2d2. Runs where r2d2 is not."""
    import importlib.abc
    import importlib.util
    import json
    import sys
    import zipimport
    import zlib

    for finder in sys.path_importer_cache.values():
        if isinstance(finder, zipimport.zipimporter):  # PySpark makes each task read its archives' directories again
            finder.invalidate_caches = lambda: None  # type: ignore[method-assign]
    if fingerprint in [getattr(finder, "r2d2_fingerprint", None) for finder in sys.meta_path]:
        return
    modules = json.loads(zlib.decompress(packed))

    class Luggage(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
        r2d2_fingerprint = fingerprint

        def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
            return importlib.util.spec_from_loader(name, self) if name in modules else None

        def is_package(self, name: str) -> bool:
            return bool(modules[name][0])

        def get_source(self, name: str) -> str:
            return str(modules[name][1])

        def get_code(self, name: str) -> Any:
            return compile(self.get_source(name), f"<{name}, from the driver>", "exec", dont_inherit=True)

    for name in [name for name in sys.modules if name.partition(".")[0] == "r2d2"]:
        del sys.modules[name]
    others = [finder for finder in sys.meta_path if not hasattr(finder, "r2d2_fingerprint")]
    sys.meta_path[:] = [Luggage(), *others]
