"""Prices as data: those shipped here, each with its source and date, or the user's own TOML file."""

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
    """The prices of that name, or of that file."""
    if wanted in SHIPPED:
        return _prices(tomllib.loads(files(__name__).joinpath(f"{wanted}.toml").read_text("utf-8")), wanted)
    try:
        return _prices(tomllib.loads(Path(wanted).read_text("utf-8")), wanted)
    except OSError as error:
        raise UserError(
            f"there are no prices {wanted!r} ({error.strerror})",
            hint=f"--prices takes {', '.join(SHIPPED)} or a TOML file such as src/r2d2/prices/azure.toml",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {wanted}: {error}", hint="it is a TOML file: name = value") from error


def _prices(content: dict[str, Any], where: str) -> Prices:
    known = {field.name: field for field in fields(Prices)}
    unknown = sorted(content.keys() - known.keys())
    missing = sorted(n for n, field in known.items() if field.default is MISSING and n not in content)
    if unknown or missing:
        what = f"has {unknown[0]}, which is no price" if unknown else f"lacks {missing[0]}"
        raise UserError(f"{where} {what}", hint=f"a price file has {', '.join(known)}")
    return Prices(**{name: _checked(name, value, where) for name, value in content.items()})


def _checked(name: str, value: Any, where: str) -> Any:
    if name in ("name", "currency", "source", "date"):
        return str(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        raise UserError(
            f"{name} in {where} must be a number from 0 up, not {value!r}", hint="prices are in the currency"
        )
    if name in _REQUEST_SIZES and value <= 0:
        raise UserError(f"{name} in {where} must be above 0", hint="how much one request reads or writes, in MiB")
    return float(value)
