"""A person's SELECT becomes a typed tree, or a refusal that says what is wrong. Nothing of it is ever run."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.errors import UserError
from r2d2.model.predicate import And, Predicate, keeps, to_sql
from r2d2.model.recipe import Recipe, SortKey, projection
from r2d2.model.recipe import to_sql as recipe_sql
from r2d2.model.schema import Column, Schema
from r2d2.model.types import kind_of
from r2d2.steps.sql.select import parse_select
from tests.support.random_predicates import CONSTANTS, predicates

PARENT = Schema.of(
    [
        Column(("id",), "int64"),
        Column(("name",), "string"),
        Column(("day",), "date"),
        Column(("at",), "timestamp(us)"),
        Column(("seen",), "timestamp(us,UTC)"),
        Column(("a", "b"), "float64"),
        Column(("a.b",), "binary"),
        Column(("ok",), "bool"),
        Column(("unit price",), "decimal(9,2)"),
        Column(("tags",), "list<string>"),
    ]
)
CHILD = Schema.of([Column(("id",), "int32"), Column(("name",), "string")])


def parse(text: str, child: Schema = CHILD) -> Recipe:
    return parse_select(text, parent="sales/2024", parent_schema=PARENT, child_schema=child)


@pytest.mark.parametrize(
    ("where", "meaning"),
    [
        ("id > 5", "id > 5"),
        ("5 < id", "id > 5"),
        ("id = -5 or id != 3", "id = -5 OR id <> 3"),
        ("not id between 1 and 2", "NOT id BETWEEN 1 AND 2"),
        ("name in ('a', 'it''s', '\\')", "name IN ('a', 'it''s', '\\')"),
        ("name not in ('a')", "NOT name IN ('a')"),
        ("name is not null and tags is null", "name IS NOT NULL AND tags IS NULL"),
        ("ok", "ok = TRUE"),
        ("not ok and true", "NOT ok = TRUE AND (TRUE)"),
        ("day >= date '2024-02-29'", "day >= DATE '2024-02-29'"),
        ("at < timestamp '2024-02-29 12:00:00.123456789'", "at < TIMESTAMP '2024-02-29 12:00:00.123456789'"),
        ("at < timestamp '2024-02-29'", "at < TIMESTAMP '2024-02-29 00:00:00'"),
        ("seen < timestamp '2024-02-29T12:00:00Z'", "seen < TIMESTAMP '2024-02-29 12:00:00Z'"),
        ("a.b = 0.5", "a.b = 0.5"),
        ("a.b <> -0.0e0", "a.b <> -0.0e0"),
        ("a.b = double 'NaN'", "a.b = DOUBLE 'nan'"),
        ("`a.b` = X'00FF'", "`a.b` = X'00ff'"),
        ("parent.id = 1 and `sales/2024`.id = 2", "id = 1 AND id = 2"),
        ("`unit price` <= 1.50 and (id = 1 or (id = 2))", "`unit price` <= 1.50 AND (id = 1 OR id = 2)"),
    ],
)
def test_what_is_allowed_keeps_its_meaning(where: str, meaning: str) -> None:
    recipe = parse("SELECT id, name FROM parent WHERE " + where)  # noqa: S608
    assert recipe.where is not None and to_sql(recipe.where) == meaning
    assert [output.column for output in recipe.columns] == list(CHILD.columns)


def test_columns_may_be_renamed_and_taken_all() -> None:
    renamed = Schema.of([Column(("key",), "int64"), Column(("name",), "string")])
    assert parse("select id as key, name from parent", renamed).columns[0].source == ("id",)
    assert parse("select * from `sales/2024`", PARENT) == Recipe(projection(PARENT))
    assert parse("select distinct name, id from parent").distinct


ORDERED = [
    SortKey((name,), down, first) for name in ("id", "name") for down in (False, True) for first in (False, True)
]


@pytest.mark.parametrize("order", [(), *((key,) for key in ORDERED), (ORDERED[3], ORDERED[4])], ids=str)
def test_an_order_can_be_given_back_as_it_is_shown(order: tuple[SortKey, ...]) -> None:
    recipe = Recipe(projection(CHILD), order=order or None)
    assert parse(recipe_sql(recipe, "sales/2024")) == recipe


def test_values_without_order_are_not_sorted_by() -> None:
    with pytest.raises(UserError, match="tags, whose values have no order"):
        parse("SELECT tags FROM parent ORDER BY tags", Schema.of([Column(("tags",), "list<string>")]))


ALL_KINDS = {column.token: kind_of(column.type_name) for column in PARENT.columns}
VALUES = {
    token: st.none() | (st.sampled_from(CONSTANTS[kind]) if kind in CONSTANTS else st.none())
    for token, kind in ALL_KINDS.items()
}


@settings(max_examples=200)
@given(predicates(ALL_KINDS), st.fixed_dictionaries(VALUES))
def test_the_text_that_people_read_can_be_given_back(predicate: Predicate, row: dict) -> None:  # type: ignore[type-arg]
    shown = to_sql(predicate)
    if "IN ()" in shown or "\x00" in shown:
        return  # these have no SQL
    recipe = parse(recipe_sql(Recipe(projection(CHILD), predicate), "sales/2024"))
    assert keeps(recipe.where or And(()), row) is keeps(predicate, row)


REFUSED = """
SELECT id, name FROM parent; DROP TABLE parent
SELECT id, name FROM parent;
SELECT id, name FROM parent -- and more
SELECT id, name FROM parent /* comment */
SELECT /*+ BROADCAST(parent) */ id, name FROM parent
SELECT id, name FROM parent WHERE reflect('java.lang.System', 'exit', 3) = 1
SELECT id, name FROM parent WHERE java_method('java.lang.Runtime', 'getRuntime') IS NULL
SELECT id, name FROM parent WHERE id = (SELECT max(id) FROM parent)
SELECT id, name FROM parent WHERE id IN (SELECT id FROM other)
SELECT id, name FROM parent WHERE EXISTS (SELECT 1)
SELECT id, name FROM (SELECT * FROM parent)
SELECT id, name FROM parquet.`/etc/passwd`
SELECT id, name FROM csv.`/etc/passwd`
SELECT id, name FROM other
SELECT id, name FROM read_files('/etc/passwd')
SELECT id, name FROM range(10)
SELECT id, name FROM parent JOIN other ON parent.id = other.id
SELECT id, name FROM parent, other
SELECT id, name FROM parent CROSS JOIN parent
SELECT id, name FROM parent AS p
SELECT id, name FROM parent TABLESAMPLE (10 PERCENT)
SELECT id, name FROM parent VERSION AS OF 3
SELECT id, name FROM parent TIMESTAMP AS OF '2024-01-01'
SELECT id, name FROM parent GROUP BY id, name
SELECT id, name FROM parent HAVING id > 1
SELECT id, name FROM parent ORDER BY day
SELECT id, name FROM parent ORDER BY 1
SELECT id, name FROM parent ORDER BY ALL
SELECT id, name FROM parent ORDER BY id, id DESC
SELECT id, name FROM parent ORDER BY id + 1
SELECT id, name FROM parent ORDER BY rand()
SELECT id, name FROM parent ORDER BY (SELECT 1)
SELECT id, name FROM parent ORDER BY reflect('java.lang.System', 'exit', 3)
SELECT id, name FROM parent ORDER BY name COLLATE UNICODE
SELECT id, name FROM parent ORDER BY id LIMIT 3
SELECT id, name FROM parent SORT BY id
SELECT id, name FROM parent CLUSTER BY id
SELECT id, name FROM parent DISTRIBUTE BY id
SELECT id, name FROM parent LIMIT 5
SELECT id, name FROM parent OFFSET 5
SELECT id, name FROM parent LATERAL VIEW explode(tags) t AS tag
SELECT id, name FROM parent WINDOW w AS (PARTITION BY id)
SELECT id, name FROM parent QUALIFY row_number() OVER (ORDER BY id) = 1
SELECT id, row_number() OVER (ORDER BY id) AS name FROM parent
SELECT id, name FROM parent UNION SELECT id, name FROM parent
SELECT id, name FROM parent EXCEPT SELECT id, name FROM other
WITH p AS (SELECT 1) SELECT id, name FROM parent
SELECT id, upper(name) AS name FROM parent
SELECT id + 1 AS id, name FROM parent
SELECT id, 'x' AS name FROM parent
SELECT CAST(id AS INT) AS id, name FROM parent
SELECT id, name FROM parent WHERE id + 1 = 2
SELECT id, name FROM parent WHERE id % 2 = 0
SELECT id, name FROM parent WHERE rand() < 0.5
SELECT id, name FROM parent WHERE day > current_date()
SELECT id, name FROM parent WHERE day > current_date
SELECT id, name FROM parent WHERE at > now()
SELECT id, name FROM parent WHERE name LIKE 'a%'
SELECT id, name FROM parent WHERE name RLIKE 'a.*'
SELECT id, name FROM parent WHERE name REGEXP 'a.*'
SELECT id, name FROM parent WHERE name ILIKE 'a%'
SELECT id, name FROM parent WHERE name || 'x' = 'ax'
SELECT id, name FROM parent WHERE lower(name) = 'a'
SELECT id, name FROM parent WHERE my_udf(name)
SELECT id, name FROM parent WHERE name = "a"
SELECT id, name FROM parent WHERE name = name
SELECT id, name FROM parent WHERE id = NULL
SELECT id, name FROM parent WHERE id IN (1, NULL)
SELECT id, name FROM parent WHERE id <=> 1
SELECT id, name FROM parent WHERE id IS TRUE
SELECT id, name FROM parent WHERE id = '1'
SELECT id, name FROM parent WHERE name = 1
SELECT id, name FROM parent WHERE day = '2024-01-01'
SELECT id, name FROM parent WHERE day = DATE '2024-02-30'
SELECT id, name FROM parent WHERE day = TIMESTAMP '2024-01-01 00:00:00'
SELECT id, name FROM parent WHERE seen = TIMESTAMP '2024-01-01 00:00:00'
SELECT id, name FROM parent WHERE at = TIMESTAMP '2024-01-01 00:00:00Z'
SELECT id, name FROM parent WHERE `a.b` = 'a'
SELECT id, name FROM parent WHERE ok = 1
SELECT id, name FROM parent WHERE id
SELECT id, name FROM parent WHERE tags = array('a')
SELECT id, name FROM parent WHERE tags[0] = 'a'
SELECT id, name FROM parent WHERE ID = 1
SELECT id, name FROM parent WHERE unknown = 1
SELECT id, name FROM parent WHERE id = :param
SELECT id, name FROM parent WHERE id = ?
SELECT id, name FROM parent WHERE id = @@version
SELECT id, name FROM parent WHERE CASE WHEN id = 1 THEN true END
SELECT id, name FROM parent WHERE id = CAST('1' AS INT)
SELECT id, name FROM parent WHERE id = TRY_CAST('1' AS INT)
SELECT id, name FROM parent WHERE id BETWEEN 1 AND id
SELECT id, name FROM parent WHERE id = 1e
SELECT id, name FROM parent WHERE
SELECT id FROM parent
SELECT id, name, day FROM parent
SELECT id, id, name FROM parent
SELECT name AS id, id AS name FROM parent
SELECT id, nothing AS name FROM parent
SELECT * FROM parent
SELECT * EXCEPT (id) FROM parent
SELECT id, name
SELECT FROM parent
INSERT INTO parent SELECT 1
CREATE TABLE x AS SELECT id, name FROM parent
DROP TABLE parent
DELETE FROM parent
SET spark.sql.ansi.enabled=false
ADD JAR '/tmp/x.jar'
EXPLAIN SELECT id, name FROM parent
VALUES (1)
TABLE parent
SELECT TRANSFORM(id, name) USING 'cat' AS (id, name) FROM parent
SELECT id, name FROM parent PIVOT (max(id) FOR name IN ('a'))
SELECT id, name INTO OUTFILE '/tmp/x' FROM parent
SELECT TOP 5 id, name FROM parent
__import__('os').system('true')
' OR 1=1 --
1
"""


@pytest.mark.parametrize("text", [*REFUSED.strip().splitlines(), "", "\x00", "SELECT " + "(" * 5000, "x" * 200_000])
def test_everything_else_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(UserError) as refusal:
        parse(text)
    assert str(refusal.value.args[0]).startswith("this SELECT is") and refusal.value.hint


def test_the_refusal_names_what_it_met() -> None:
    for text, word in {
        "SELECT id, name FROM parent WHERE reflect('x', 'y') = 1": "reflect()",
        "SELECT id, name FROM parent LIMIT 5": "LIMIT",
        "SELECT id, name FROM parent GROUP BY id": "GROUP BY",
        "SELECT id, name FROM parent JOIN x ON 1 = 1": "JOIN",
        "SELECT id, name FROM parent; SELECT 1": "semicolon",
        "SELECT id, name FROM parent WHERE id IN (SELECT 1)": "IN",
        "SELECT id, name FROM parent WHERE nope = 1": "nope",
        "SELECT id, name FROM parent WHERE id = 'x'": "int64",
    }.items():
        with pytest.raises(UserError, match="not accepted") as refusal:
            parse(text)
        assert word in str(refusal.value.args[0]), refusal.value


def test_long_chains_of_conditions_are_read() -> None:
    where = " OR ".join(f"id = {n}" for n in range(2000))
    assert parse("SELECT id, name FROM parent WHERE " + where).where  # noqa: S608
