"""Memory that is used again and again: fresh pages cost more than the work that is done in them."""

from __future__ import annotations

import threading
from math import prod

import numpy as np

from r2d2.engine.kernels.mixing import Words


class _Memory(threading.local):
    def __init__(self) -> None:
        self.words: dict[str, Words] = {}


_memory = _Memory()


def scratch(purpose: str, *shape: int) -> Words:
    """Words for this purpose, of any content; whoever asks next for the same purpose gets the same memory."""
    size = prod(shape)
    held = _memory.words.get(purpose)
    if held is None or len(held) < size:
        held = _memory.words[purpose] = np.empty(size, np.uint64)
    return held[:size].reshape(shape)
