"""Let small tables share jobs; large ones get their own. If a shared job fails, only the faulty table fails.

A failing bundle is halved until the faulty table is alone. It is then processed by itself, and that result counts: no
table is ever refused because of its neighbours. An error of no table, such as a lost cluster, is raised at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from r2d2.engine.second_reader.many import Pair, can_share
from r2d2.engine.second_reader.shape import Shape, shape_of
from r2d2.engine.spark.failures import worker_died
from r2d2.errors import R2D2Error, TableError, UserError
from r2d2.model.progress import News, Progress, silent

if TYPE_CHECKING:
    from r2d2.model.rebuild import Placed

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

TABLES_PER_JOB = 500
BYTES_PER_JOB = 256 << 20
BYTES_ALONE = 32 << 20  # from this size on a job of its own costs comparatively little


class Shapes:
    """Cache of the shapes of tables."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[str, ...]], Shape] = {}

    def of(self, table: Placed) -> Shape:
        """The shape of a table."""
        key = table.path, table.files
        if key not in self._known:
            self._known[key] = shape_of(table.path, table.files)
        return self._known[key]


def share(
    asked: Sequence[Asked],
    *,
    pair: Callable[[Asked], Pair | None],
    together: Callable[[Sequence[Pair]], list[Answer]],
    alone: Callable[[Asked], Answer],
    progress: Progress = silent,
) -> list[Answer | R2D2Error]:
    """The answer for each question. *pair* returns the tables to read for it; None if it must not share a job."""
    answers: dict[int, Answer | R2D2Error] = {}
    shared: dict[int, Answer]
    small: list[tuple[int, Pair]] = []
    for number, one in enumerate(asked):
        try:
            found = pair(one)
        except TableError as error:
            answers[number] = error
            continue
        if found is not None and can_share(found) and found.size_bytes < BYTES_ALONE:
            small.append((number, found))
    for bundle in bundles(small):
        shared = _halved(bundle, together)
        answers.update(shared)
        progress(News(done=len(answers), total=len(asked)))
    for number, one in enumerate(asked):
        if number not in answers:
            answers[number] = _tried(alone, one)
            progress(News(done=len(answers), total=len(asked)))
    return [answers[number] for number in range(len(asked))]


def bundles(small: Sequence[tuple[int, Pair]]) -> Iterator[list[tuple[int, Pair]]]:
    """Bundles of limited tables and bytes, each for one job."""
    bundle: list[tuple[int, Pair]] = []
    size = 0
    for number, pair in small:
        if bundle and (len(bundle) == TABLES_PER_JOB or size + pair.size_bytes > BYTES_PER_JOB):
            yield bundle
            bundle, size = [], 0
        bundle.append((number, pair))
        size += pair.size_bytes
    if bundle:
        yield bundle


def _halved(
    bundle: Sequence[tuple[int, Pair]], together: Callable[[Sequence[Pair]], list[Answer]]
) -> dict[int, Answer]:
    """The answers of a bundle, without those that must be processed alone."""
    if len(bundle) < 2:
        return {}
    try:
        answers = together([pair for _, pair in bundle])
    except R2D2Error as error:
        _raise_if_nobody_is_to_blame(error)
        half = len(bundle) // 2
        return {**_halved(bundle[:half], together), **_halved(bundle[half:], together)}
    return {number: answer for (number, _), answer in zip(bundle, answers, strict=True)}


def _tried(alone: Callable[[Asked], Answer], one: Asked) -> Answer | R2D2Error:
    try:
        return alone(one)
    except R2D2Error as error:
        _raise_if_nobody_is_to_blame(error)
        return error


def _raise_if_nobody_is_to_blame(error: R2D2Error) -> None:
    if isinstance(error, UserError) and not worker_died(error):
        raise error
