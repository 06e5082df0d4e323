"""From a person's SELECT to a recipe. What is not on the list of allowed things is refused by name (HAZARDS 32).

The text is read by a parser and never run: all that is left of it is a typed tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from r2d2.errors import UserError
from r2d2.model.predicate import And, Between, Compare, IsNull, Not, OneOf, Or, Predicate, wrong_with
from r2d2.model.recipe import OutputColumn, Recipe
from r2d2.model.schema import Column, Schema, Token, spell
from r2d2.steps.parse_literal import Refused, literal_of, what_is

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

LONGEST = 100_000
_FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ALLOWED = "allowed are columns, AND, OR, NOT, = <> < <= > >=, BETWEEN, IN, IS NULL and constants"


def parse_select(text: str, *, parent: str, parent_schema: Schema, child_schema: Schema) -> Recipe:
    """The recipe that `SELECT … FROM parent WHERE …` describes, with the child's types; UserError for anything else."""
    try:
        select = _parsed(text)
        _check_clauses(select)
        _check_source(select, parent)
        columns = _outputs(select, parent, parent_schema, child_schema)
        where = select.args.get("where")
        predicate = _Where(parent, parent_schema).read(where.this) if where else None
    except Refused as error:
        raise UserError(f"this SELECT is not accepted: {error}", hint=error.hint or _ALLOWED) from error
    except RecursionError as error:
        raise UserError("this SELECT is nested too deep", hint="write it with fewer brackets") from error
    types = {column.token: column.type_name for column in parent_schema.columns}
    wrong = wrong_with(predicate, types) if predicate is not None else None
    if wrong:
        raise UserError(f"this SELECT is not accepted: {wrong}", hint="write DATE '2024-01-31', X'00ff', 1.5, 'text' …")
    return Recipe(columns, predicate, distinct=bool(select.args.get("distinct")))


def _parsed(text: str) -> Expression:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError
    from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

    if len(text) > LONGEST:
        raise Refused(f"it is longer than {LONGEST:,} characters")
    try:
        dialect = _dialect()
        tokens = dialect.tokenize(text)
        for token in tokens:
            if token.comments or token.token_type is TokenType.HINT:
                raise Refused("it has a comment", hint="write it without comments and hints")
            if token.token_type is TokenType.SEMICOLON:
                raise Refused("it has a semicolon", hint="write one SELECT, without a semicolon")
        statements = dialect.parser().parse(tokens, text)
    except (SqlglotError, ValueError) as error:
        raise Refused("it cannot be read as SQL", hint=_first_line(error)) from error
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        found = what_is(statements[0]) if statements and statements[0] is not None else "nothing"
        raise Refused(f"it is no plain SELECT but {found}", hint="write SELECT columns FROM parent WHERE …")
    return statements[0]


@cache
def _dialect() -> Any:
    """Spark's SQL with plain quoting: names in backticks, text in single quotes that are doubled inside."""
    from sqlglot.dialects.spark import Spark

    class Plain(Spark):
        class Tokenizer(Spark.Tokenizer):
            QUOTES: ClassVar = ["'"]
            IDENTIFIERS: ClassVar = ["`"]
            STRING_ESCAPES: ClassVar = ["'"]

    return Plain()


def _first_line(error: Exception) -> str:
    line = str(error).partition("\n")[0]
    return "".join(c for c in line if c.isprintable())[:200]


def _check_clauses(select: Expression) -> None:
    """Only the clauses that a recipe has."""
    from sqlglot import exp

    for name, value in select.args.items():
        if value and name not in ("expressions", "from", "from_", "where", "distinct", "kind"):
            raise Refused(f"it has {_clause(name)}", hint="a recipe takes columns and rows of one parent, nothing else")
    if select.args.get("kind"):
        raise Refused("it has SELECT AS")
    distinct = select.args.get("distinct")
    if isinstance(distinct, exp.Distinct) and distinct.args.get("on"):
        raise Refused("it has DISTINCT ON")


def _clause(name: str) -> str:
    names = {"laterals": "LATERAL VIEW", "with": "WITH", "with_": "WITH", "joins": "JOIN", "group": "GROUP BY"}
    return names.get(name, name.rstrip("_").replace("_", " ").upper())


def _check_source(select: Expression, parent: str) -> None:
    from sqlglot import exp

    source = select.args.get("from") or select.args.get("from_")
    if source is None:
        raise Refused("it has no FROM", hint="write FROM parent")
    table = source.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise Refused(f"it reads from {what_is(table)}", hint="write FROM parent")
    extra = [name for name, value in table.args.items() if value and name not in ("this", "db", "catalog")]
    if extra:
        raise Refused(f"its FROM has {_clause(extra[0])}", hint="write FROM parent")
    name = ".".join(part.name for part in table.parts)
    if name not in (parent, "parent"):
        raise Refused(f"it reads from {name}, but the parent is {parent}", hint="write FROM parent")


def _outputs(select: Expression, parent: str, parent_schema: Schema, child_schema: Schema) -> tuple[OutputColumn, ...]:
    """Each column of the child, once, with its source."""
    sources = dict(_selected(select, parent, parent_schema))
    wanted = {column.token: column for column in child_schema.columns}
    for token in sources:
        if token not in wanted:
            raise Refused(f"the child has no column {spell(token)}", hint=_names(child_schema))
    for token in wanted:
        if token not in sources:
            raise Refused(f"it does not select the child's column {spell(token)}", hint=_names(child_schema))
    kinds = {column.token: column.kind for column in parent_schema.columns}
    for token, source in sources.items():
        if wanted[token].kind not in (kinds[source], "null") and kinds[source] != "null":
            raise Refused(
                f"the child's {spell(token)} is {wanted[token].type_name}, {spell(source)} is {kinds[source]}"
            )
    return tuple(OutputColumn(column, sources[column.token]) for column in child_schema.columns)


def _names(schema: Schema) -> str:
    return "it has " + ", ".join(spell(token) for token in schema.tokens[:20])


def _selected(select: Expression, parent: str, schema: Schema) -> Iterator[tuple[Token, Token]]:
    """The child's column and the parent's, one after the other."""
    from sqlglot import exp

    seen: set[Token] = set()
    for item in select.expressions:
        if isinstance(item, exp.Star) and not any(item.args.values()):
            pairs = [(token, token) for token in schema.tokens]
        elif isinstance(item, exp.Alias):
            pairs = [((item.alias,), _resolved(item.this, parent, schema))]
        else:
            token = _resolved(item, parent, schema)
            pairs = [(token, token)]
        for pair in pairs:
            if pair[0] in seen:
                raise Refused(f"it selects {spell(pair[0])} twice")
            seen.add(pair[0])
            yield pair


def _resolved(expression: Expression, parent: str, schema: Schema) -> Token:
    """The parent's column that is meant; a leading `parent.` or the parent's name may stand before it."""
    parts = tuple(_parts(expression))
    known = set(schema.tokens)
    readings = [parts, *([parts[1:]] if len(parts) > 1 and parts[0] in ("parent", parent) else [])]
    for token in readings:
        if token in known:
            return token
    raise Refused(f"the parent has no column {spell(parts)}", hint=_names(schema))


def _parts(expression: Expression) -> Iterator[str]:
    from sqlglot import exp

    if isinstance(expression, exp.Column) and all(isinstance(part, exp.Identifier) for part in expression.parts):
        yield from (part.name for part in expression.parts)
    elif isinstance(expression, exp.Dot) and isinstance(expression.expression, exp.Identifier):
        yield from _parts(expression.this)
        yield expression.expression.name
    else:
        raise Refused(f"{what_is(expression)} stands where a column must")


class _Where:
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
        return self._columns[_resolved(node, self._parent, self._schema)]


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
