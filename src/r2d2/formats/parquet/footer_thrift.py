"""Parts of a Parquet footer that pyarrow does not show, parsed strictly."""

from __future__ import annotations

import os
from typing import Any

from r2d2.formats.parquet.thrift import Damaged, Fields, read_struct


def footer_length(path: str) -> int:
    """Bytes of the footer, as the end of the file states it."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 8))
        return int.from_bytes(file.read(4), "little")


def footer_struct(path: str, known: Fields) -> dict[int, Any]:
    """The known fields of a file's footer; none if the strict parser refuses it."""
    length = footer_length(path)
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 8 - length))
        try:
            return read_struct(file.read(min(length, size)), 0, known)[0]
        except (Damaged, IndexError):
            return {}
