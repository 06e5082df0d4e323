"""Algorithms of the optimiser: each takes a `Problem` and returns a `Solution` of the same task."""
