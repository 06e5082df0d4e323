"""One step of a flow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from r2d2.model.progress import Progress
from r2d2.settings import Settings

Known = TypeVar("Known")  # what is known before and after the step
World = TypeVar("World")  # access to files, Spark and state


@dataclass(frozen=True, slots=True)
class Step(Generic[Known, World]):
    """A step by its name, with the words that people see."""

    name: str
    doing: str  # in progress lines; '' for a step that takes no time and is not announced
    leaves: str  # in the funnel, after the number of tables or edges that are left
    run: Callable[[Known, World, Settings, Progress], Known]


def step_named(steps: tuple[Step[Known, World], ...], name: str) -> Step[Known, World]:
    """The step of that name."""
    return next(step for step in steps if step.name == name)


def steps_before(steps: tuple[Step[Known, World], ...], name: str) -> tuple[Step[Known, World], ...]:
    """The steps before the one of that name."""
    return steps[: steps.index(step_named(steps, name))]


def steps_from(steps: tuple[Step[Known, World], ...], name: str) -> tuple[Step[Known, World], ...]:
    """The step of that name and all after it."""
    return steps[steps.index(step_named(steps, name)) :]
