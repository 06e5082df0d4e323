"""Parquet files with encrypted columns, and one that kills whoever looks at its footer: SIGABRT in pyarrow (HAZARDS 25)."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as encryption

_SIGNATURE_BYTES = 28


class Keys(encryption.KmsClient):  # type: ignore[misc]
    """Keys as they are: nothing here is secret."""

    def wrap_key(self, key: bytes, master: str) -> str:
        return key.hex()


def write_encrypted(path: Path, columns: list[str]) -> None:
    """Two columns, x and y, some of them encrypted, below a plain footer."""
    how = encryption.EncryptionConfiguration(footer_key="f", column_keys={"k": columns}, plaintext_footer=True)
    factory = encryption.CryptoFactory(lambda connection: Keys())
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), how)
    table = pa.table({"x": [1], "y": ["a"]})
    with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)


def write_killer(path: Path) -> None:
    """A file with an encrypted column that lost the signature of its footer, by which it could be told."""
    write_encrypted(path, ["x"])
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little") - _SIGNATURE_BYTES
    path.write_bytes(content[: -8 - _SIGNATURE_BYTES] + length.to_bytes(4, "little") + content[-4:])
