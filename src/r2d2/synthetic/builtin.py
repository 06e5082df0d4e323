"""Root tables made with NumPy alone: a small company's customers, orders, clicks and sensors.

Rows are made in blocks, each from its own random generator, so that a root of any size is a stream and each
block is independent of the blocks before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from r2d2.synthetic import values as v

BLOCK_ROWS = 8192

Block = Callable[[v.Draw], dict[str, pa.Array]]


@dataclass(frozen=True, slots=True)
class BuiltinRoot:
    """One kind of root table: a function that makes a block of it, and its size relative to the biggest."""

    name: str
    share: float
    home: str  # the folder of the lake it belongs in
    block: Block

    def rows(self, biggest: int) -> int:
        """Number of rows if the biggest root has *biggest*."""
        return max(1, round(biggest * self.share)) if biggest else 0

    def schema(self) -> pa.Schema:
        """Schema of the root."""
        empty = self.block(v.Draw(np.random.default_rng(0), first=0, size=0, of=1))
        return pa.schema([pa.field(name, array.type) for name, array in empty.items()])

    def batches(self, *, biggest: int, seed: int) -> Iterator[pa.RecordBatch]:
        """Rows of the root, block by block; the same for the same seed."""
        schema, rows = self.schema(), self.rows(biggest)
        name_seed = int.from_bytes(self.name.encode()[:8], "big")
        for block, first in enumerate(range(0, rows, BLOCK_ROWS)):
            random = np.random.default_rng([seed, name_seed, block])
            draw = v.Draw(random, first=first, size=min(BLOCK_ROWS, rows - first), of=biggest)
            yield pa.RecordBatch.from_arrays(list(self.block(draw).values()), schema=schema)


def _web_events(draw: v.Draw) -> dict[str, pa.Array]:
    return {
        "event_id": draw.ids(),
        "session": draw.hexes(12),
        "happened_at": draw.moments(pa.timestamp("ms", "UTC")),
        "kind": draw.words(v.EVENT_KINDS),
        "page": draw.words(v.PAGES),
        "country": draw.words(v.COUNTRIES),
        "customer_id": draw.keys(share=0.2, nulls=0.4),
        "duration_ms": draw.integers(0, 90_000, pa.int32(), nulls=0.1),
        "score": draw.normals(50.0, 15.0, pa.float64()),
        "device": draw.structs(os=draw.words(v.SYSTEMS), browser=draw.words(v.BROWSERS), nulls=0.03),
    }


def _orders(draw: v.Draw) -> dict[str, pa.Array]:
    days = draw.days()
    return {
        "order_id": draw.ids(100_000),
        "customer_id": draw.keys(share=0.2),
        "country": draw.words(v.COUNTRIES),
        "status": draw.words(v.STATES),
        "priority": draw.integers(1, 6, pa.int8()),
        "order_date": draw.dates(days),
        "year": draw.years(days),
        "placed_at": draw.moments(pa.timestamp("us")),
        "items": draw.integers(1, 12, pa.int32()),
        "total": draw.money(5.0, 400.0, pa.decimal128(12, 2)),
        "coupon": draw.words(v.COUPONS, nulls=0.8),
    }


def _customers(draw: v.Draw) -> dict[str, pa.Array]:
    first_names, last_names = draw.words(v.FIRST_NAMES), draw.words(v.LAST_NAMES)
    return {
        "customer_id": draw.ids(),
        "name": draw.joined(first_names, last_names, separator=" "),
        "email": draw.emails(first_names, last_names, nulls=0.05),
        "country": draw.words(v.COUNTRIES),
        "segment": draw.words(v.SEGMENTS),
        "birth_date": draw.dates(draw.days(since=-14_000, span=12_000), nulls=0.1),
        "signed_up_at": draw.moments(pa.timestamp("us", "UTC")),
        "newsletter": draw.flags(0.3, nulls=0.05),
        "credit_limit": draw.money(0.0, 9000.0, pa.decimal128(12, 2)),
        "address": draw.structs(
            city=draw.words(v.CITIES),
            zip=draw.codes(1_000, 99_999, digits=5),
            geo=draw.structs(
                lat=draw.normals(50.0, 4.0, pa.float64()),
                lon=draw.normals(9.0, 6.0, pa.float64()),
            ),
            nulls=0.02,
        ),
    }


def _order_lines(draw: v.Draw) -> dict[str, pa.Array]:
    return {
        "order_id": draw.keys(share=0.5, first=100_000),
        "line": draw.integers(1, 9, pa.int16()),
        "product_id": draw.keys(share=0.05, kind=pa.int32()),
        "quantity": draw.integers(1, 40, pa.int32()),
        "unit_price": draw.money(0.5, 250.0, pa.decimal128(10, 2)),
        "discount": draw.normals(0.06, 0.02, pa.float64()),
        "shipped_on": draw.dates(draw.days(), nulls=0.15),
        "warehouse": draw.words(v.SITES),
    }


def _products(draw: v.Draw) -> dict[str, pa.Array]:
    return {
        "product_id": draw.ids(kind=pa.int32()),
        "sku": draw.codes(0, 9_999_999, digits=7),
        "title": draw.joined(draw.words(v.ADJECTIVES), draw.words(v.THINGS), separator=" "),
        "category": draw.words(v.CATEGORIES),
        "price": draw.money(0.5, 250.0, pa.decimal128(10, 2)),
        "weight_kg": draw.normals(4.0, 1.0, pa.float32(), nulls=0.1),
        "tags": draw.lists(v.TAGS, longest=4, nulls=0.05),
        "discontinued": draw.flags(0.1),
        "added_on": draw.dates(draw.days()),
    }


def _sensor_readings(draw: v.Draw) -> dict[str, pa.Array]:
    return {
        "sensor_id": draw.integers(1, 60, pa.int32()),
        "site": draw.words(v.SITES),
        "measured_at": draw.moments(pa.timestamp("us")),
        "temperature": draw.normals(21.0, 6.0, pa.float64(), nulls=0.02),
        "humidity": draw.normals(45.0, 12.0, pa.float32()),
        "pressure_hpa": draw.normals(1013.0, 9.0, pa.float64()),
        "battery": draw.integers(0, 101, pa.int16()),
        "ok": draw.flags(0.97, nulls=0.01),
    }


BUILTIN_ROOTS = (
    BuiltinRoot("web_events", 1.0, "web", _web_events),
    BuiltinRoot("orders", 0.5, "sales", _orders),
    BuiltinRoot("customers", 0.2, "crm", _customers),
    BuiltinRoot("order_lines", 1.0, "sales", _order_lines),
    BuiltinRoot("products", 0.05, "sales", _products),
    BuiltinRoot("sensor_readings", 0.5, "ops", _sensor_readings),
)
