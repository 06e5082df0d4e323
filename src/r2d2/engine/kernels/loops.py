"""The compiled loops of the row hash, if they are loaded; both forms give the same hashes."""

from r2d2.model.loops import Loops

LOOPS = Loops("r2d2.engine.kernels.compiled", worth_loading=10_000_000)  # values, hashed without them
