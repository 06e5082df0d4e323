"""Typed constants of a person's SELECT, and names for refused SQL."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from r2d2.model.literal import Literal, from_text

if TYPE_CHECKING:
    from sqlglot.expressions import Expression


class Refused(Exception):
    """SQL that a recipe cannot have."""

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what)
        self.hint = hint


def what_is(node: object) -> str:
    """A name for a piece of SQL, for the message that refuses it."""
    from sqlglot import exp

    if isinstance(node, exp.Anonymous):
        return f"a call of {str(node.this)[:40]}()"
    if isinstance(node, exp.Subquery | exp.Select | exp.SetOperation | exp.Exists):
        return "a sub-query or a combination of queries"
    if isinstance(node, exp.Window):
        return "a window"
    if isinstance(node, exp.Func):
        return f"a call of {node.sql_name()}()"
    if isinstance(node, exp.Null):
        return "NULL"
    if isinstance(node, exp.Command):
        return "a command"
    if isinstance(node, exp.Expression):
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()
        return f"{words}"
    return "something other than SQL"


def literal_of(node: Expression, column_kind: str) -> Literal:
    """The constant of a piece of SQL; Refused if it is not one. *column_kind* decides the kind of a timestamp."""
    from sqlglot import exp

    match node:
        case exp.Paren():
            return literal_of(node.this, column_kind)
        case exp.Boolean():
            return Literal("bool", bool(node.this))
        case exp.Neg() if isinstance(node.this, exp.Literal) and not node.this.is_string:
            return _number("-" + str(node.this.this))
        case exp.Literal():
            return Literal("string", str(node.this)) if node.is_string else _number(str(node.this))
        case exp.HexString():
            return _read("binary", str(node.this))
        case exp.Cast() if isinstance(node.this, exp.Literal) and node.this.is_string:
            return _typed(node, column_kind)
        case exp.Null():
            raise Refused("it compares with NULL", hint="write column IS NULL")
    raise Refused(f"{what_is(node)} is not a constant")


def _number(text: str) -> Literal:
    """Read a number as Spark does: whole numbers, decimals with a point, doubles with an exponent."""
    if re.fullmatch(r"-?\d+", text):
        return _read("int", text)
    if re.fullmatch(r"-?(\d+\.\d*|\.\d+)", text):
        return Literal("decimal", Decimal(text))
    if re.fullmatch(r"-?(\d+\.?\d*|\.\d+)[eE][+-]?\d+", text):
        return Literal("float", float(text))
    raise Refused(f"{text[:40]} is not a number")


def _typed(node: Expression, column_kind: str) -> Literal:
    """Read DATE '…', TIMESTAMP '…' or DOUBLE '…', which the parser turns into casts of text."""
    text = str(node.this.this)
    word = str(node.args["to"].this.value).upper() if node.args.get("to") else ""
    if node.args.get("format") or node.args.get("safe") or node.args["to"].args.get("expressions"):
        raise Refused("it has a CAST", hint="values are cast to the child's types automatically")
    if word == "DATE":
        return _read("date", text)
    if word in ("DOUBLE", "FLOAT"):
        return _read("float", text)
    if word.startswith("TIMESTAMP"):
        zoned = text.rstrip().upper().endswith(("Z", "UTC"))
        kind = "timestamp with zone" if zoned else "timestamp"
        moment = re.sub(r" ?(Z|UTC)$", "", text.strip(), flags=re.IGNORECASE)
        moment += " 00:00:00" if re.fullmatch(r"\d{4}-\d\d-\d\d", moment) else ""
        if not zoned and column_kind == "timestamp with zone":
            raise Refused(f"the time '{text[:40]}' has no zone", hint="write TIMESTAMP '2024-01-31 12:00:00Z', in UTC")
        return _read(kind, moment + ("Z" if zoned else ""))
    raise Refused("it has a CAST", hint="values are cast to the child's types automatically")


def _read(kind: str, text: str) -> Literal:
    try:
        return from_text(kind, text)
    except ValueError as error:
        raise Refused(str(error)) from error
