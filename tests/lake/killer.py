"""A Parquet file that kills whoever looks at its footer: SIGABRT in pyarrow, not catchable (HAZARDS 25)."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as encryption


class Keys(encryption.KmsClient):  # type: ignore[misc]
    """Keys as they are: nothing here is secret."""

    def wrap_key(self, key: bytes, master: str) -> str:
        return key.hex()


def write_killer(path: Path) -> None:
    """An encrypted column below a plain footer."""
    how = encryption.EncryptionConfiguration(footer_key="f", column_keys={"k": ["x"]}, plaintext_footer=True)
    factory = encryption.CryptoFactory(lambda connection: Keys())
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), how)
    table = pa.table({"x": [1]})
    with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
