"""The optimiser's algorithms: each takes a `Problem` and returns a `Solution`, and all of them solve the same task."""
