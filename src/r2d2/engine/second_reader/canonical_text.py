"""Spell a row as one text in Spark: two texts are equal exactly if the rows are, value by value (DESIGN §6).

NULL equals NULL, NaN equals NaN, -0.0 differs from 0.0, text counts by its bytes, maps by their entries, those of one
key in order. Each value has a definite end, so that different rows never give the same text. No session setting and
no version of Java changes it: numbers with a fraction are written in base 16 or digit by digit, timestamps as counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from r2d2.engine.second_reader.types import Leaf, ListOf, MapOf, Node, Struct, spark_word
from r2d2.model.types import parse_type

if TYPE_CHECKING:
    from pyspark.sql import Column

NULL = "~"


def row_text(columns: Sequence[tuple[Column, Node]]) -> Column:
    """The text of a row, as bytes: a session's collation does not affect how bytes compare (HAZARDS 3)."""
    from pyspark.sql import functions as F

    return F.concat(F.lit(""), *(text_of(column, node) for column, node in columns)).cast("binary")


def text_of(column: Column, node: Node) -> Column:
    """The text of one value; never NULL."""
    from pyspark.sql import functions as F

    return F.when(column.isNull(), F.lit(NULL)).otherwise(_body(column, node))


def _body(column: Column, node: Node) -> Column:
    from pyspark.sql import functions as F

    match node:
        case Struct(fields):
            parts = [text_of(column.getField(name), part) for name, part in fields]
            return F.concat(F.lit("("), *parts, F.lit(")"))
        case ListOf(item):
            return _joined(F.transform(column, lambda value: text_of(value, item)))
        case MapOf(key, value):
            return _joined(_entries(column, key, value))
    return _leaf(column, node)


def _entries(column: Column, key: Node, value: Node) -> Column:
    """The texts of a map's entries, sorted by key; entries of one key keep their order: many readers take the last."""
    from pyspark.sql import functions as F

    def placed(entry: Column, place: Column) -> Column:
        text = F.concat(text_of(entry.getField("key"), key), text_of(entry.getField("value"), value))
        return F.struct(_key_text(entry.getField("key"), key), place, text.alias("text"))

    return F.transform(F.array_sort(F.transform(F.map_entries(column), placed)), lambda entry: entry.getField("text"))


def _key_text(column: Column, node: Node) -> Column:
    """The text of a key; the same for keys that readers treat as one, such as 0.0 and -0.0."""
    from pyspark.sql import functions as F

    is_float = isinstance(node, Leaf) and spark_word(node) in ("float", "double")
    return text_of(column + F.lit(0.0), Leaf("float64")) if is_float else text_of(column, node)


def _joined(texts: Column) -> Column:
    from pyspark.sql import functions as F

    return F.concat(F.lit("["), F.size(texts).cast("string"), F.lit(":"), F.array_join(texts, ""))


def _leaf(column: Column, leaf: Leaf) -> Column:
    from pyspark.sql import functions as F

    word = spark_word(leaf)
    if word == "string":
        return F.concat(F.octet_length(column).cast("string"), F.lit(":"), column)
    if word == "boolean":
        return F.when(column, F.lit("t")).otherwise(F.lit("f"))
    return F.concat(_number(column, word), F.lit(";"))


def _number(column: Column, word: str) -> Column:
    from pyspark.sql import functions as F

    if word in ("float", "double"):
        return F.format_string("%a", column)  # exact, in base 16
    if (kind := parse_type(word)).family == "decimal":
        return F.format_number(column, kind.scale)
    match word:
        case "binary":
            return F.hex(column)
        case "date":
            return F.unix_date(column).cast("string")
        case "timestamp":
            return F.unix_micros(column).cast("string")
    return column.cast("string")  # whole numbers, and local times
