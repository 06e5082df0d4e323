"""Turn a person's SELECT into a recipe. Anything but the allowed constructs is refused by name (HAZARDS 32).

The text is parsed into a typed tree and never run.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from r2d2.errors import UserError
from r2d2.model.predicate import wrong_with
from r2d2.model.recipe import UNSORTED_KINDS, Order, OutputColumn, Recipe, SortKey
from r2d2.model.schema import Schema, Token, spell
from r2d2.steps.sql.literal import Refused, what_is
from r2d2.steps.sql.where import Where, names_of, resolved

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

LONGEST = 100_000
_ALLOWED = "allowed are columns, AND, OR, NOT, = <> < <= > >=, BETWEEN, IN, IS NULL and constants"


def parse_select(text: str, *, parent: str, parent_schema: Schema, child_schema: Schema) -> Recipe:
    """Parse `SELECT … FROM parent WHERE … ORDER BY …` into a recipe with the child's types; UserError for other SQL."""
    try:
        select = _parsed(text)
        _check_clauses(select)
        _check_source(select, parent)
        columns = _outputs(select, parent, parent_schema, child_schema)
        where = select.args.get("where")
        predicate = Where(parent, parent_schema).read(where.this) if where else None
        order = _order(select.args.get("order"), child_schema)
    except Refused as error:
        raise UserError(f"this SELECT is not accepted: {error}", hint=error.hint or _ALLOWED) from error
    except RecursionError as error:
        raise UserError("this SELECT is nested too deep", hint="write it with fewer brackets") from error
    types = {column.token: column.type_name for column in parent_schema.columns}
    wrong = wrong_with(predicate, types) if predicate is not None else None
    if wrong:
        raise UserError(f"this SELECT is not accepted: {wrong}", hint="write DATE '2024-01-31', X'00ff', 1.5, 'text' …")
    return Recipe(columns, predicate, distinct=bool(select.args.get("distinct")), order=order)


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
        raise Refused(f"it is not a plain SELECT but {found}", hint="write SELECT columns FROM parent WHERE …")
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
    """Refuse clauses that a recipe cannot have."""
    from sqlglot import exp

    for name, value in select.args.items():
        if value and name not in ("expressions", "from", "from_", "where", "distinct", "kind", "order"):
            raise Refused(f"it has {_clause(name)}", hint="a recipe only selects columns and rows of one parent")
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
            raise Refused(f"the child has no column {spell(token)}", hint=names_of(child_schema))
    for token in wanted:
        if token not in sources:
            raise Refused(f"it does not select the child's column {spell(token)}", hint=names_of(child_schema))
    kinds = {column.token: column.kind for column in parent_schema.columns}
    for token, source in sources.items():
        if wanted[token].kind not in (kinds[source], "null") and kinds[source] != "null":
            raise Refused(
                f"the child's {spell(token)} is {wanted[token].type_name}, {spell(source)} is {kinds[source]}"
            )
    return tuple(OutputColumn(column, sources[column.token]) for column in child_schema.columns)


def _order(clause: Expression | None, child_schema: Schema) -> Order | None:
    """The sort keys of an ORDER BY, as columns of the child; None without one."""
    from sqlglot import exp

    if clause is None:
        return None
    if any(value for name, value in clause.args.items() if name != "expressions"):
        raise Refused("it has more in its ORDER BY than columns")
    keys = []
    for item in clause.expressions:
        if not isinstance(item, exp.Ordered) or item.args.get("with_fill"):
            raise Refused(f"it sorts by {what_is(item)}", hint=names_of(child_schema))
        column = resolved(item.this, "", child_schema, whose="child")
        keys.append(SortKey(column, bool(item.args.get("desc")), bool(item.args.get("nulls_first"))))
    kinds = {column.token: column.kind for column in child_schema.columns}
    unsorted = [key for key in keys if kinds[key.column] in UNSORTED_KINDS]
    if unsorted:
        raise Refused(f"it sorts by {spell(unsorted[0].column)}, whose values have no order")
    if len({key.column for key in keys}) < len(keys):
        raise Refused("it sorts by a column twice")
    return tuple(keys)


def _selected(select: Expression, parent: str, schema: Schema) -> Iterator[tuple[Token, Token]]:
    """Pairs of the child's column and the parent's, in the order selected."""
    from sqlglot import exp

    seen: set[Token] = set()
    for item in select.expressions:
        if isinstance(item, exp.Star) and not any(item.args.values()):
            pairs = [(token, token) for token in schema.tokens]
        elif isinstance(item, exp.Alias):
            pairs = [((item.alias,), resolved(item.this, parent, schema))]
        else:
            token = resolved(item, parent, schema)
            pairs = [(token, token)]
        for pair in pairs:
            if pair[0] in seen:
                raise Refused(f"it selects {spell(pair[0])} twice")
            seen.add(pair[0])
            yield pair
