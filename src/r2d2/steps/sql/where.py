"""Columns and conditions of a person's SELECT, each checked against the parent's schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from r2d2.model.predicate import And, Between, Compare, IsNull, Not, OneOf, Or, Predicate
from r2d2.model.schema import Column, Schema, Token, spell
from r2d2.steps.sql.literal import Refused, literal_of, what_is

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

_FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def names_of(schema: Schema) -> str:
    """The columns of a schema, for a hint."""
    return "it has " + ", ".join(spell(token) for token in schema.tokens[:20])


def resolved(expression: Expression, parent: str, schema: Schema, *, whose: str = "parent") -> Token:
    """The column that an expression names; `parent.` or the parent's name may precede it."""
    parts = tuple(_parts(expression))
    known = set(schema.tokens)
    readings = [parts, *([parts[1:]] if len(parts) > 1 and parts[0] in ("parent", parent) else [])]
    for token in readings:
        if token in known:
            return token
    raise Refused(f"the {whose} has no column {spell(parts)}", hint=names_of(schema))


def _parts(expression: Expression) -> Iterator[str]:
    from sqlglot import exp

    if isinstance(expression, exp.Column) and all(isinstance(part, exp.Identifier) for part in expression.parts):
        yield from (part.name for part in expression.parts)
    elif isinstance(expression, exp.Dot) and isinstance(expression.expression, exp.Identifier):
        yield from _parts(expression.this)
        yield expression.expression.name
    else:
        raise Refused(f"{what_is(expression)} is not a column")


class Where:
    """The WHERE of a SELECT as a predicate."""

    def __init__(self, parent: str, schema: Schema) -> None:
        self._parent = parent
        self._schema = schema
        self._columns = {column.token: column for column in schema.columns}

    def read(self, node: Expression) -> Predicate:
        """The tree of a condition."""
        from sqlglot import exp

        match node:
            case exp.Paren():
                return self.read(node.this)
            case exp.And():
                return And(tuple(self.read(part) for part in _flat(node, exp.And)))
            case exp.Or():
                return Or(tuple(self.read(part) for part in _flat(node, exp.Or)))
            case exp.Not():
                return Not(self.read(node.this))
            case exp.Boolean():
                return And(()) if node.this else Or(())
            case exp.Is():
                return self._is(node)
            case exp.Between():
                return self._between(node)
            case exp.In():
                return self._in(node)
            case exp.Column() | exp.Dot():
                return Compare(self._column(node).token, "=", literal_of(exp.Boolean(this=True), "bool"))
        return self._compare(node)

    def _compare(self, node: Expression) -> Predicate:
        from sqlglot import exp

        operators: dict[type, str] = {
            exp.EQ: "=",
            exp.NEQ: "<>",
            exp.LT: "<",
            exp.LTE: "<=",
            exp.GT: ">",
            exp.GTE: ">=",
        }
        operator = operators.get(type(node))
        if operator is None:
            raise Refused(f"it has {what_is(node)}")
        left, right = node.this, node.expression
        if not isinstance(left, exp.Column | exp.Dot) and isinstance(right, exp.Column | exp.Dot):
            left, right, operator = right, left, _FLIPPED[operator]
        column = self._column(left)
        if isinstance(right, exp.Column | exp.Dot):
            raise Refused("it compares two columns", hint="compare a column with a constant")
        return Compare(column.token, operator, literal_of(right, column.kind))

    def _is(self, node: Expression) -> Predicate:
        from sqlglot import exp

        if not isinstance(node.expression, exp.Null):
            raise Refused("it has IS with something other than NULL", hint="write column IS NULL, or column = TRUE")
        return IsNull(self._column(node.this).token)

    def _between(self, node: Expression) -> Predicate:
        if node.args.get("symmetric"):
            raise Refused("it has BETWEEN SYMMETRIC")
        column = self._column(node.this)
        low, high = (literal_of(node.args[name], column.kind) for name in ("low", "high"))
        return Between(column.token, low, high)

    def _in(self, node: Expression) -> Predicate:
        if any(value for name, value in node.args.items() if name not in ("this", "expressions")):
            raise Refused("it has IN with something other than a list of constants")
        column = self._column(node.this)
        return OneOf(column.token, tuple(literal_of(value, column.kind) for value in node.expressions))

    def _column(self, node: Expression) -> Column:
        return self._columns[resolved(node, self._parent, self._schema)]


def _flat(node: Any, kind: type) -> Sequence[Expression]:
    """The parts of a chain of ANDs or ORs, in order; without recursion, since chains are long."""
    parts: list[Expression] = []
    waiting: list[Any] = [node]
    while waiting:
        top = waiting.pop()
        same = type(top) is kind
        waiting += [top.expression, top.this] if same else []
        parts += [] if same else [top]
    return parts
