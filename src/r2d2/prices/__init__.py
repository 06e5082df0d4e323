"""Load prices: those shipped here, each with its source and date, or the user's own TOML file."""

from __future__ import annotations

import tomllib
from dataclasses import MISSING, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from r2d2.errors import UserError
from r2d2.model.prices import Prices

SHIPPED = ("azure", "aws", "gcp")
_REQUEST_SIZES = ("read_request_mib", "write_request_mib")


def load_prices(wanted: str) -> Prices:
    """The shipped prices of that name, or the prices in that file."""
    if wanted in SHIPPED:
        return _prices(files(__name__).joinpath(f"{wanted}.toml").read_text("utf-8"), wanted)
    try:
        return _prices(Path(wanted).read_text("utf-8"), wanted)
    except OSError as error:
        raise UserError(
            f"there are no prices {wanted!r} ({error.strerror})",
            hint=f"--prices takes {', '.join(SHIPPED)} or a TOML file such as src/r2d2/prices/azure.toml",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {wanted}: {error}", hint="it is a TOML file: name = value") from error


def _prices(text: str, where: str) -> Prices:
    content = tomllib.loads(text)
    known = {field.name: field for field in fields(Prices)}
    unknown = sorted(content.keys() - known.keys())
    missing = sorted(n for n, field in known.items() if field.default is MISSING and n not in content)
    if unknown or missing:
        hint = f"a price file has {', '.join(known)}; the last may be left out"
        if unknown:
            raise UserError(f"{_line(text, unknown[0], where)} has {unknown[0]}, which is not a price", hint=hint)
        raise UserError(f"{where} lacks {missing[0]}", hint=hint)
    return Prices(**{name: _checked(name, value, _line(text, name, where)) for name, value in content.items()})


def _line(text: str, name: str, where: str) -> str:
    """The line of a price in its file, in words."""

    lines = (number for number, line in enumerate(text.splitlines(), 1) if line.partition("=")[0].strip() == name)
    number = next(lines, None)
    return where if number is None else f"line {number} of {where}"


def _checked(name: str, value: Any, where: str) -> Any:
    if name in ("name", "currency", "source", "date"):
        return str(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        raise UserError(
            f"{where}: {name} must be a number from 0 up, not {value!r}", hint="a price is an amount in currency"
        )
    if name in _REQUEST_SIZES and value <= 0:
        raise UserError(
            f"{where}: {name} must be above 0, not {value!r}", hint="how much one request reads or writes, in MiB"
        )
    return float(value)
