"""Prices of storing, reading and writing, and the speed of rebuilds."""

from __future__ import annotations

from dataclasses import dataclass

DAYS_PER_MONTH = 365.25 / 12
GIB = 1 << 30
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Prices:
    """A provider's prices, each for the unit its name says."""

    name: str
    currency: str
    source: str
    date: str
    storage_per_gib_month: float
    read_per_10000_requests: float
    write_per_10000_requests: float
    read_request_mib: float
    write_request_mib: float
    compute_per_gib_scanned: float = 0.0

    @property
    def storage_per_byte_month(self) -> float:
        """C_s of section 5.2."""
        return self.storage_per_gib_month / GIB

    @property
    def read_per_byte(self) -> float:
        """r of section 5.1: requests, and the engine's time.

        >>> azure = Prices("", "USD", "", "", 0.0208, 0.0057, 0.0715, 4, 4)
        >>> round(azure.read_per_byte * GIB, 6), round(azure.write_per_byte * GIB, 6)
        (0.000146, 0.00183)
        """
        requests = self.read_per_10000_requests / 10_000 / (self.read_request_mib * MIB)
        return requests + self.compute_per_gib_scanned / GIB

    @property
    def write_per_byte(self) -> float:
        """w of section 5.1."""
        return self.write_per_10000_requests / 10_000 / (self.write_request_mib * MIB)

    @property
    def scan_per_byte(self) -> float:
        """C_m of section 5.2: one maintenance operation reads the whole table."""
        return self.read_per_byte


@dataclass(frozen=True, slots=True)
class Speed:
    """Speed of rebuilds: r_l and w_l of section 5.1, and the time before the first byte."""

    read_bytes_per_second: float
    write_bytes_per_second: float
    start_seconds: float = 0.0

    def seconds(self, *, read_bytes: float, written_bytes: float) -> float:
        """L_e: the time one rebuild takes.

        >>> Speed(100e6, 50e6, 10).seconds(read_bytes=1e9, written_bytes=1e8)
        22.0
        """
        return (
            self.start_seconds + read_bytes / self.read_bytes_per_second + written_bytes / self.write_bytes_per_second
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """Monthly reads of a table: by people (A_v), and by maintenance such as privacy requests (f_v)."""

    accesses_per_month: float
    maintenance_per_month: float
