"""Prices are data that a person can check, replace and follow with a calculator."""

from __future__ import annotations

from pathlib import Path

import pytest

from r2d2.errors import UserError
from r2d2.model.prices import GIB
from r2d2.prices import SHIPPED, load_prices

MINE = """
name = "mine"
currency = "EUR"
source = "my contract"
date = "2026-01"
storage_per_gib_month = 0.03
read_per_10000_requests = 0.01
write_per_10000_requests = 0.1
read_request_mib = 1
write_request_mib = 2
compute_per_gib_scanned = 0.5
"""


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_prices_say_where_and_when_they_are_from(name: str) -> None:
    prices = load_prices(name)
    assert prices.source.startswith("https://") and prices.date >= "2025" and prices.currency == "USD"
    assert 0.01 < prices.storage_per_byte_month * GIB < 0.05
    assert 0 < prices.read_per_byte < prices.write_per_byte * 10


def test_a_person_s_own_file_counts_to_the_last_digit(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE)
    prices = load_prices(str(tmp_path / "mine.toml"))
    assert prices.storage_per_byte_month * GIB == pytest.approx(0.03)
    assert prices.read_per_byte * GIB == pytest.approx(1024 * 0.01 / 10_000 + 0.5)
    assert prices.write_per_byte * GIB == pytest.approx(512 * 0.1 / 10_000)
    assert prices.scan_per_byte == prices.read_per_byte


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("date", "dat"), "line 5 of .*mine.toml has dat, which is not a price"),
        (('currency = "EUR"\n', ""), "lacks currency"),
        (("0.03", "-1"), "line 6 of .*mine.toml: storage_per_gib_month must be .* not -1"),
        (("0.03", "true"), "storage_per_gib_month"),
        (("0.03", "nan"), "storage_per_gib_month"),
        (("0.03", '"much"'), "line 6 of .*: storage_per_gib_month .* not 'much'"),
        (("read_request_mib = 1", "read_request_mib = 0"), "read_request_mib"),
        (("name =", "name"), "cannot read"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_name(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    (tmp_path / "mine.toml").write_text(MINE.replace(*change))
    with pytest.raises(UserError, match=says) as caught:
        load_prices(str(tmp_path / "mine.toml"))
    assert caught.value.hint


def test_unknown_prices_are_said_to_be_so() -> None:
    with pytest.raises(UserError, match="no prices 'ibm'"):
        load_prices("ibm")
