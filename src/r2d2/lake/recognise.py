"""The format of a folder or a file: by its name and, where that says nothing, by its first four bytes."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Container, Sequence
from fnmatch import fnmatchcase

from r2d2.formats.registry import is_read, magics, suffixes
from r2d2.stores.contract import Store

BOOKKEEPING = "bookkeeping"  # a writer's or the system's own notes: no data, and no surprise
OTHER = ""  # no format that we know

_NOT_READ = {
    **dict.fromkeys(("jsonl", "ndjson"), "NDJSON"),
    "csv": "CSV",
    "tsv": "TSV",
    "json": "JSON",
    "orc": "ORC",
    "avro": "Avro",
}
_COMPRESSIONS = frozenset(
    ("gz", "gzip", "bz2", "zst", "zstd", "xz", "snappy", "lz4", "lzo", "br", "brotli", "deflate", "zip")
)
# Never looked into: notes, and files that a writer has not finished though they may begin like Parquet.
_NO_TABLE = frozenset(("txt", "md", "log", "crc", "tmp", "temp", "inprogress", "_copying_", "crdownload"))

_MARKERS = ("_SUCCESS", "_metadata", "_common_metadata", "_started_*", "_committed_*")
_BOOKKEEPING = (*_MARKERS, ".*.crc", ".DS_Store")
_SILENT_FOLDERS = frozenset((".git", ".r2d2", ".r2d2-safety"))

_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_PART = re.compile(
    "|".join(
        (
            r"part[-_.](?=.*\d).+",  # Spark, Hadoop, pyarrow, Dask; no digit: perhaps a table of parts
            r"[\d_-]*\d[\d_-]*",  # Polars 00000000, BigQuery 000000000000, Hive 000000_0
            r"\d+_\d+_copy_\d+",  # Hive, second insert
            rf"(?:\d[\d_-]*[-_])?{_UUID}(?:[-_.]\d+)*",  # pyarrow <uuid>-0, Iceberg's 00000-0-<uuid>-00001
            r"[0-9a-f]{16,}(?:-[0-9a-f]{8,})?(?:[-_]\d+)*(?:_data\.\d+)?",  # hashes, Impala
            r"(?:data|file|chunk|output)[-_.]\d+(?:[-_.]\d+)*",  # DuckDB data_0, Snowflake data_0_0_0
            rf"\d{{8}}_\d{{6}}_\d{{5}}_[0-9a-z]{{5}}(?:_{_UUID})?",  # Presto, Trino, Athena
            r"\d{4}_part_\d+",  # Redshift
        )
    ),
    re.DOTALL | re.ASCII,
)

# Names that only the writers of tables give: their files are parts, whatever is in them.
_WRITTEN = re.compile(
    "|".join(
        (
            r"part[-_.](?=.*\d).+",  # Spark, Hadoop, pyarrow, Dask
            r"0\d{5}_\d+(?:_copy_\d+)?",  # Hive
            rf"\d{{8}}_\d{{6}}_\d{{5}}_[0-9a-z]{{5}}(?:_{_UUID})?",  # Presto, Trino, Athena
            r"\d{4}_part_\d+",  # Redshift
        )
    ),
    re.DOTALL | re.ASCII,
)


def format_by_name(name: str) -> str | None:
    """The format that a file's name states; OTHER if it states none of ours, None if it states nothing.

    >>> [format_by_name(name) for name in ("a.PARQUET", "a.csv.gz", "a.txt", "000000_0")]
    ['parquet', 'CSV', '', None]
    """
    stem, _, extension = name.lower().rpartition(".")
    if stem and extension in _COMPRESSIONS:
        stem, _, extension = stem.rpartition(".")
        if extension in suffixes():
            return None  # pandas users call Parquet a.parquet.gzip; a file that gzip wrote is no Parquet
    if not stem:
        return None
    return OTHER if extension in _NO_TABLE else suffixes().get(extension) or _NOT_READ.get(extension)


def format_by_content(path: str, store: Store) -> str:
    """The format that the first bytes of a regular file state."""
    (head,) = store.ranges(path, [(0, 4)])
    if head in magics():
        return magics()[head]
    if head == b"Obj\x01":
        return "Avro"
    return "ORC" if head.startswith(b"ORC") else OTHER


def is_hidden(name: str) -> bool:
    """Whether readers pass over a file or folder of this name (`_day=3` is a partition, as for Spark)."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def is_passed_over(folder_name: str) -> bool:
    """Whether a hidden folder needs no word: everyone knows that it is no data."""
    return folder_name in _SILENT_FOLDERS


def is_bookkeeping(name: str) -> bool:
    """Whether a hidden file is one that writers or the system leave behind."""
    return any(fnmatchcase(name, pattern) for pattern in _BOOKKEEPING)


def marks_a_table(name: str) -> bool:
    """Whether a file of this name says that its folder was written as one table."""
    return any(fnmatchcase(name, pattern) for pattern in _MARKERS)


def is_state_folder(file_names: Collection[str], folder_names: Collection[str]) -> bool:
    """Whether a folder is where R2D2 keeps what it found out: Parquet files, but no data of the lake's."""
    return "runs" in folder_names and {"format.json", "key"} <= set(file_names)


def table_format(path: str, folder_names: Container[str], store: Store) -> str:
    """Delta, Hudi or Iceberg, formats that are not read yet, if the folder at *path* is such a table; else ''.

    Raises OSError.
    """
    if "_delta_log" in folder_names:
        return "Delta"
    if ".hoodie" in folder_names:
        return "Hudi"
    if "metadata" in folder_names and os.path.isdir(os.path.join(path, "metadata")):
        entries = store.list(os.path.join(path, "metadata"))
        if any(entry.name.endswith((".metadata.json", ".metadata.json.gz")) for entry in entries):
            return "Iceberg"
    return ""


def parts_among(names: Sequence[str], *, folder_name: str, is_one_table: bool) -> frozenset[str]:
    """Names of a folder's data files that are parts of one table; the others are tables of their own.

    >>> sorted(parts_among(["part-0.parquet", "old.parquet"], folder_name="sales", is_one_table=False))
    ['part-0.parquet']
    >>> sorted(parts_among(["Sales.parquet"], folder_name="sales", is_one_table=False))
    ['Sales.parquet']
    """
    if is_one_table:
        return frozenset(name for name in names if not _has_foreign_extension(name))
    if len(names) == 1 and _stem(names[0]) in ("data", _stem(folder_name)):
        return frozenset(names)
    return frozenset(name for name in names if looks_like_a_part(name))


def looks_like_a_part(name: str) -> bool:
    """Whether a file is named as writers name the parts of a table, rather than as people name a table."""
    return _PART.fullmatch(_stem(name)) is not None and not _has_foreign_extension(name)


def was_written_as_a_part(name: str) -> bool:
    """Whether only a writer of tables names a file so; a number, a date or a hash names other files as well.

    >>> [was_written_as_a_part(name) for name in ("part-0.parquet", "000000_0", "2024-01-01.parquet", "1-17-1.parquet")]
    [True, True, False, False]
    """
    return _WRITTEN.fullmatch(_stem(name)) is not None


def _stem(name: str) -> str:
    """The name in lower case, less the endings that state a format or a compression."""
    stem = name.lower()
    while True:
        head, _, extension = stem.rpartition(".")
        if not head or (extension not in _COMPRESSIONS and extension not in suffixes()):
            return stem
        stem = head


def _has_foreign_extension(name: str) -> bool:
    """Whether a name ends like part-0.parquet.bak: data perhaps, but not as the writer left it."""
    if is_read(format_by_name(name)):
        return False
    _, dot, extension = _stem(name).rpartition(".")
    return bool(dot) and re.fullmatch(r"c?\d+", extension) is None
