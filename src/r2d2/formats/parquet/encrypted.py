"""Encrypted columns below a plaintext footer. pyarrow ends the process that asks about one without its key."""

from __future__ import annotations

import pyarrow.parquet as pq

from r2d2.formats.parquet.footer_thrift import footer_length, footer_struct
from r2d2.formats.parquet.thrift import LIST, STRUCT, Fields

_FILE: Fields = {4: (LIST, {1: (LIST, {8: (STRUCT, {})})}), 8: (STRUCT, {})}  # row groups, column chunks; the algorithm


def encrypted_columns(path: str, metadata: pq.FileMetaData) -> list[str]:
    """Names of the columns that are encrypted in some row group.

    Such a footer is signed: it is longer than its content. All others are told apart without parsing them.
    """
    if footer_length(path) == metadata.serialized_size:
        return []
    footer = footer_struct(path, _FILE)
    if 8 not in footer:
        return []
    leaves = {leaf for group in footer.get(4, ()) for leaf, chunk in enumerate(group.get(1, ())) if 8 in chunk}
    return [metadata.schema.column(leaf).path for leaf in sorted(leaves) if leaf < metadata.num_columns]
