"""Work items and the answers to them, as they travel between processes: plain JSON, told apart by `kind`.

A column token is a tuple on one side and, having been through JSON, a list on the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, TypedDict

Listed = Sequence[Sequence[str]]  # column tokens
Ordered = tuple[str, int | float | str]  # the kind of a value, and the value in a form that compares; ("", 0): unknown
SampledRow = tuple[str, int, tuple[Ordered, ...]]
"""A row to look for: its hash in all columns of a probe, half of its hash in the first of them, and its values."""
Projection = tuple[int, Listed, int]  # its number, its columns, and the hash ranges that its rows are cut into
WantedRows = tuple[int, Listed, Sequence[SampledRow]]  # the number of a projection, its columns, the rows looked for
ShippedRecipe = tuple[int, object, str]  # its number, the recipe as JSON, the bitmap of its listed rows in base64
Types = Sequence[tuple[Sequence[str], str]]  # columns with the names of their types
PlaceSums = tuple[str, int, int, int, int]  # path and first row of a slice; rows, sum, sum weighted by place
ListedRows = tuple[str, int, str]  # a file, how many of its rows, which of them: a bitmap in base64


class ShippedSlice(TypedDict):
    """A part of one file, as work items carry it; the format that cut it adds fields of its own."""

    path: str
    first: int  # the number of its first row in the file
    rows: int | None  # None: unknown until it is read
    bytes: int
    fold: bool  # whether case counts for nothing in the names of its columns


# ---- work items ------------------------------------------------------------------------------------------------------


class SampleWork(TypedDict):
    """Ask for the rows at some places of a slice."""

    kind: Literal["sample"]
    table: int
    slice: ShippedSlice
    tokens: Listed
    places: Sequence[int]


class LookUpWork(TypedDict):
    """Ask which of the wanted rows stand in a slice."""

    kind: Literal["look_up"]
    table: int
    slice: ShippedSlice
    wanted: Sequence[WantedRows]


class LocateWork(TypedDict):
    """Ask which of the wanted rows may stand in a slice, by its bounds alone."""

    kind: Literal["locate"]
    table: int
    slice: ShippedSlice
    place: int  # of the slice in its table
    wanted: Sequence[WantedRows]


class HashWork(TypedDict):
    """Ask for the hashes of a slice under some projections."""

    kind: Literal["hash"]
    table: int
    slice: ShippedSlice
    projections: Sequence[Projection]


class DigestWork(TypedDict):
    """Ask for the digest of raw bytes of a file."""

    kind: Literal["digest"]
    table: int
    slice: ShippedSlice  # any of the file
    chunk: int
    is_last: bool  # the last chunk goes to the end of the file


class MetadataWork(TypedDict):
    """Ask what the metadata of some files of a table say."""

    kind: Literal["metadata"]
    table: int
    format: str
    paths: Sequence[str]


class TableRows(TypedDict):
    """All rows of a table."""

    table: int
    slices: Sequence[ShippedSlice]
    tokens: Listed


class SearchWork(TypedDict):
    """Ask for recipes that make some children of one parent."""

    kind: Literal["search"]
    table: int
    slices: Sequence[ShippedSlice]
    tokens: Listed
    children: Sequence[TableRows]


class RebuildWork(TypedDict):
    """Ask for sums over the rows that recipes make of a slice, and over its own rows."""

    kind: Literal["rebuild"]
    table: int
    slice: ShippedSlice
    recipes: Sequence[ShippedRecipe]
    types: Types
    whole: Listed  # the columns of its own rows, if their sum is wanted; else empty
    asked: Sequence[object]  # orders, as JSON, in which its own rows may stand


class DistinctWork(TypedDict):
    """Ask for the sum over the distinct rows that a recipe makes of a whole table."""

    kind: Literal["distinct"]
    table: int
    slices: Sequence[ShippedSlice]
    recipes: Sequence[ShippedRecipe]
    types: Types
    most: int  # rows of the child: with more than that, the recipe is wrong


class DifferWork(TypedDict):
    """Ask how the rows that a recipe makes differ from the child's."""

    kind: Literal["differ"]
    table: int
    slices: Sequence[ShippedSlice]
    listed: Sequence[str]  # by slice, the bitmap of the listed rows in base64
    recipe: object
    distinct: bool
    types: Types
    child: TableRows
    examples: int


SliceWork = SampleWork | LocateWork | LookUpWork | HashWork | DigestWork
RecipeWork = SearchWork | RebuildWork | DistinctWork | DifferWork


# ---- answers ---------------------------------------------------------------------------------------------------------


class Failed(TypedDict):
    """A table that could not be read, and why."""

    kind: Literal["failed"]
    table: int
    because: str
    hint: str


class Sampled(TypedDict):
    """Rows of a slice."""

    kind: Literal["sampled"]
    table: int
    rows: Sequence[SampledRow]


class Located(TypedDict):
    """The hashes of wanted rows that a slice may hold."""

    kind: Literal["located"]
    table: int
    place: int
    projection: int
    rows: Sequence[str]


class Found(TypedDict):
    """The hashes of wanted rows that a table has."""

    kind: Literal["found"]
    table: int
    projection: int
    found: Sequence[str]


class Digested(TypedDict):
    """The digest of a chunk of a file."""

    kind: Literal["digested"]
    table: int
    path: str
    chunk: int
    digest: str


class Profiled(TypedDict):
    """The merged metadata of some files of a table, as text."""

    kind: Literal["profile"]
    table: int
    profile: str


class FoundPredicate(TypedDict):
    """A predicate that makes the child of its parent."""

    kind: Literal["predicate"]
    parent: int
    child: int
    where: object
    distinct: bool


class FoundRows(TypedDict):
    """The rows of a parent that make the child."""

    kind: Literal["rows"]
    parent: int
    child: int
    rows: Sequence[ListedRows]


class SliceOrder(TypedDict):
    """How the rows of a slice are sorted. Orders are JSON, as `model.recipe.order_to_json` writes them."""

    declared: Sequence[object]  # by the file's footer; null: an order that cannot be sorted by
    held: Sequence[object]  # those of them that the rows have
    asked: Sequence[object]  # those of the orders asked about that the rows have
    constant: Sequence[tuple[Sequence[str], int]]  # columns of one value, each with a number for it
    sorted: Sequence[tuple[object, float]]  # orders that the rows have, and how little chance explains them
    best: object


class Summed(TypedDict):
    """The sum over rows that a recipe makes, or over a table's own rows; with what is known of their order."""

    kind: Literal["sum"]
    of: Literal["recipe", "whole"]
    number: int  # of the recipe or of the table
    sum: Sequence[int]
    parts: Sequence[PlaceSums]
    orders: Sequence[SliceOrder]


class Wrong(TypedDict):
    """A recipe that cannot be carried out."""

    kind: Literal["wrong"]
    recipe: int
    because: str


class Differs(TypedDict):
    """How rows made differ from the child's."""

    kind: Literal["difference"]
    rows: int
    too_many: int
    too_few: int
    example_too_many: NotRequired[Sequence[Mapping[str, str | None]]]
    example_too_few: NotRequired[Sequence[Mapping[str, str | None]]]
