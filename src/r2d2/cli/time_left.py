"""An estimate of the time that a job still takes, given only while it can be believed."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import timedelta

WINDOW_SECONDS = 30.0  # the speed is that of the last half minute …
LEAST_SECONDS = 5.0  # … and of some seconds at least
STALLED_SECONDS = 20.0  # without any advance the speed is not known any more
SLACK_SECONDS = 10.0


class TimeLeft:
    """Estimates from what a job tells of its progress.

    There is none while the total is unknown or nothing has advanced for a while. An estimate is broken if the job takes
    more than twice as long, and some seconds; from then on, none that is shorter than the delay is given.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()  # whoever draws it does so in a thread of their own
        self._total: int | None = None
        self._restart(0)

    def _restart(self, done: int) -> None:
        self._seen = deque([(self._clock(), done)])  # when so much was done, oldest first
        self._promise: tuple[float, float] | None = None  # when it was given, and by when it is broken
        self._least = 0.0  # the shortest estimate that can be believed

    def tell(self, done: int, total: int | None) -> None:
        """Note that so much is done; less than before, or nothing, is the beginning of another job."""
        with self._lock:
            before = self._seen[-1][1]
            if done < before or done == 0:
                self._restart(done)
            elif done > before:
                self._seen.append((self._clock(), done))
            self._total = total

    @property
    def seconds(self) -> float | None:
        """The estimate, if there is one."""
        with self._lock:
            now = self._clock()
            self._judge(now)
            left = self._at_this_speed(now)
            if left is None or left < self._least:
                return None
            broken_at = now + 2 * left + SLACK_SECONDS
            if self._promise is None or broken_at < self._promise[1]:
                self._promise = now, broken_at
            return left

    def _judge(self, now: float) -> None:
        """If the job should have ended by now, trust no estimate that is shorter than its delay."""
        if self._promise is not None and now >= self._promise[1]:
            self._least = now - self._promise[0]
            self._promise = None

    def _at_this_speed(self, now: float) -> float | None:
        while len(self._seen) > 2 and self._seen[1][0] <= now - WINDOW_SECONDS:
            self._seen.popleft()
        (first, before), (last, done) = self._seen[0], self._seen[-1]
        if self._total is None or not before < done < self._total:
            return None
        if now - last > STALLED_SECONDS or now - first < LEAST_SECONDS:
            return None
        return (self._total - done) * (now - first) / (done - before)

    def __str__(self) -> str:
        """Hours, minutes and seconds; empty if there is no estimate."""
        left = self.seconds
        return "" if left is None else str(timedelta(seconds=round(left)))
