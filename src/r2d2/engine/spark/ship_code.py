"""Send R2D2's code along with each job, so that the workers of a cluster need not have it installed.

The pickled function of a job carries the source of our packages in front of itself: unpickling it first makes them
importable and then finds the function. Nothing is set on the session, nothing is written on the workers, and the
workers run the driver's version even if they have another one installed.
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
from typing import TYPE_CHECKING, Generic, TypeVar

from r2d2.engine.spark.cluster import works_here

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType

    from pyspark.sql import SparkSession

# All that the functions of our jobs import.
SHIPPED = ("engine", "errors", "formats", "lake", "model", "stores")

Argument = TypeVar("Argument")
Result = TypeVar("Result")


def ship(spark: SparkSession, function: Callable[[Argument], Result]) -> Callable[[Argument], Result]:
    """Prepare *function* for the workers of *spark*: add our code unless they run on this machine."""
    return function if works_here(spark) else with_code(function)


def with_code(function: Callable[[Argument], Result]) -> Callable[[Argument], Result]:
    """Wrap *function* so that it brings our code along wherever it is unpickled."""
    from pyspark import cloudpickle

    register: Callable[[ModuleType], None] = cloudpickle.register_pickle_by_value
    register(sys.modules[__name__])  # this module must get there without an import
    carried = _WithCode(function)

    def run(argument: Argument) -> Result:
        return carried(argument)

    return run


class _WithCode(Generic[Argument, Result]):
    """A function that is unpickled as itself, after our source has been installed."""

    def __init__(self, function: Callable[[Argument], Result]) -> None:
        self._function = function

    def __call__(self, argument: Argument) -> Result:
        return self._function(argument)

    def __reduce__(self) -> tuple[object, ...]:
        return itemgetter(1), ((_Source(), self._function),)  # a tuple is unpickled in order: first the source


class _Source:
    """Our source, which installs itself when it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return install, packed_source()


@cache
def packed_source() -> tuple[str, bytes]:
    """Fingerprint of the source of our packages, and the source itself, compressed."""
    source = json.dumps(dict(sorted(_modules(files("r2d2"), "r2d2", SHIPPED)))).encode()
    return hashlib.sha256(source).hexdigest(), zlib.compress(source, 9)


def _modules(
    folder: Traversable, name: str, among: tuple[str, ...] | None = None
) -> Iterator[tuple[str, tuple[bool, str]]]:
    """Yield the full name of each module below a package, with its text and whether it is a package itself."""
    for entry in folder.iterdir():
        stem = entry.name.removesuffix(".py")
        if stem == "__init__":
            yield name, (True, entry.read_text("utf-8"))
        elif among is not None and stem not in among:
            continue
        elif stem != entry.name:
            yield f"{name}.{stem}", (False, entry.read_text("utf-8"))
        elif entry.is_dir() and entry.joinpath("__init__.py").is_file():
            yield from _modules(entry, f"{name}.{entry.name}")


def install(fingerprint: str, packed: bytes) -> None:
    """Make the packed source importable in this process, in place of any other r2d2. Must not import r2d2 itself."""
    import importlib.abc
    import importlib.util
    import json
    import sys
    import zipimport
    import zlib

    if sys.version_info < (3, 13):  # PySpark makes each task read the directories of its ZIP archives again
        for finder in sys.path_importer_cache.values():
            if isinstance(finder, zipimport.zipimporter):
                finder.invalidate_caches = lambda: None  # type: ignore[method-assign]
    if fingerprint in [getattr(finder, "r2d2_fingerprint", None) for finder in sys.meta_path]:
        return
    modules: dict[str, tuple[bool, str]] = json.loads(zlib.decompress(packed))

    class DriverSource(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
        r2d2_fingerprint = fingerprint

        def find_spec(
            self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
        ) -> ModuleSpec | None:
            return importlib.util.spec_from_loader(name, self) if name in modules else None

        def is_package(self, name: str) -> bool:
            return modules[name][0]

        def get_source(self, name: str) -> str:
            return modules[name][1]

        def get_code(self, name: str) -> CodeType:
            return compile(self.get_source(name), f"<{name}, from the driver>", "exec", dont_inherit=True)

    for name in [name for name in sys.modules if name.partition(".")[0] == "r2d2"]:
        del sys.modules[name]
    others = [finder for finder in sys.meta_path if not hasattr(finder, "r2d2_fingerprint")]
    sys.meta_path[:] = [DriverSource(), *others]
