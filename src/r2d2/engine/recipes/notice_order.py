"""Derive the order of a table from that of its slices: the order its recipe restores, and the order that is lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from r2d2.engine.recipes.row_order import MOST_FIRST, SURPRISING
from r2d2.model.recipe import LONGEST_NOTE, Order, Recipe, SortKey, order_from_json, order_text, order_to_json
from r2d2.model.work import SliceOrder

Slices = Sequence[SliceOrder]


@dataclass(frozen=True, slots=True)
class Noticed:
    """The order that a recipe restores, if any; a lost order; or the reason that a given order is wrong."""

    order: Order | None = None
    lost: str = ""
    wrong: str = ""


def notice_order(recipe: Recipe, slices: Slices, *, rows: int, as_in_parent: bool) -> Noticed:
    """Find the order of a child that its recipe can restore.

    The order that its footers declare comes first, then the parent's own order, then the order that its rows have.
    """
    if recipe.order is not None:
        holds = as_in_parent if not recipe.order else _each_has((part["asked"] for part in slices), recipe.order)
        wrong = f"sorted by {order_text(recipe.order)}" if recipe.order else "in the parent's order"
        return Noticed(recipe.order, _lost(slices, recipe.order), "" if holds else f"the child is not {wrong}")
    if rows < 2:
        return Noticed(None)
    declared = _declared(slices)
    order = declared[0] if len(declared) == 1 and _each_has((part["held"] for part in slices), declared[0]) else None
    order = order or (() if as_in_parent else _own(slices))
    return Noticed(order, _lost(slices, order))


def _each_has(orders: Iterable[Sequence[object]], order: Order | None) -> bool:
    """Whether each slice has this order among its own."""
    return bool(order) and all(order_to_json(order or ()) in some for some in orders)


def _declared(slices: Slices) -> list[Order | None]:
    """The orders that footers declare: () without a declaration, None for an order that cannot be sorted by."""
    found = [None if order is None else order_from_json(order) for part in slices for order in part["declared"]]
    return list(dict.fromkeys(found))


def _lost(slices: Slices, order: Order | None) -> str:
    """A declared order that a rebuild will not restore, in words; empty without one."""
    declared = _declared(slices)
    if declared in ([], [()], [order]):
        return ""
    if None in declared:
        return "its footers declare an order by values that a rebuild cannot sort by"
    if len(declared) > 1:
        return "its row groups do not all declare the same order"
    by, held = order_text(declared[0] or ()), [part["held"] for part in slices]
    has = "the recipe sorts differently" if _each_has(held, declared[0]) else "its rows are not"
    return f"its footers declare that it is sorted by {by}, and {has}"[:LONGEST_NOTE]


def _own(slices: Slices) -> Order | None:
    """The keys by which every slice is sorted, if that is unlikely to be chance."""
    maps = [{order_from_json(order)[0]: (order_from_json(order), says) for order, says in s["sorted"]} for s in slices]
    constant = [{tuple(token) for token, _ in part["constant"]} for part in slices]

    def sequence(number: int, key: SortKey) -> Order | None:
        """An order of one slice that begins with the key; None without one."""
        if key.column in constant[number]:
            best = order_from_json(slices[number]["best"])
            return (key, *(other for other in best if other.column != key.column))
        return maps[number][key][0] if key in maps[number] else None

    says: dict[SortKey, float] = {}
    for key in dict.fromkeys(key for found in maps for key in found):
        if all(key in found or key.column in same for found, same in zip(maps, constant, strict=True)):
            says[key] = sum(found[key][1] for found in maps if key in found)
    first = max(says, key=says.__getitem__, default=None)
    if first is None or says[first] <= SURPRISING:
        return None
    orders = [order for number in range(len(slices)) if (order := sequence(number, first)) is not None]
    own = [keys[0] for keys in takewhile(lambda keys: len(set(keys)) == 1, zip(*orders, strict=False))]
    return (*(key for key in _apart(slices) if key.column != first.column), *own)


def _apart(slices: Slices) -> list[SortKey]:
    """Columns that are constant in each slice but differ between slices, as first keys that keep slices apart."""
    tags = [{tuple(token): tag for token, tag in part["constant"]} for part in slices]
    common = set.intersection(*(set(tag) for tag in tags)) if tags else set()
    return [SortKey(token) for token in sorted(common) if len({tag[token] for tag in tags}) > 1][:MOST_FIRST]
