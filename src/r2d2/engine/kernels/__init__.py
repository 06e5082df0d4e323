"""Row hashing on Arrow and NumPy, without Spark or the rest of r2d2.

hashes = hash_rows(columns, projections=[...], key=key)   # per projection: two 64-bit halves per row
blocks = split(block_of(hashes[0]), ranges=16)            # sorted, distinct, counted; to_bytes() ships them
find_missing(child=..., parent=...)                       # by all 128 bits, as a set and as a bag
"""

from r2d2.engine.kernels.blocks import HashBlock, block_of, from_bytes, merge, pack_rows, split, to_bytes, unpack
from r2d2.engine.kernels.column_hash import hash_column
from r2d2.engine.kernels.compare import common_rows, count_missing, find_missing
from r2d2.engine.kernels.fingerprint import Fingerprint, fingerprint
from r2d2.engine.kernels.keys import NotComparable, Token
from r2d2.engine.kernels.mixing import HASH_VERSION, Hashes
from r2d2.engine.kernels.row_hash import ALL_BITS, hash_rows

__all__ = [
    "ALL_BITS",
    "HASH_VERSION",
    "Fingerprint",
    "HashBlock",
    "Hashes",
    "NotComparable",
    "Token",
    "block_of",
    "common_rows",
    "count_missing",
    "find_missing",
    "fingerprint",
    "from_bytes",
    "hash_column",
    "hash_rows",
    "merge",
    "pack_rows",
    "split",
    "to_bytes",
    "unpack",
]
