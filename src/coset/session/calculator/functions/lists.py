"""Lists, and lists taken as sets. Results keep the order in which values first appeared."""

from __future__ import annotations

from collections.abc import Hashable

from coset.errors import UserError
from coset.session.calculator.arithmetic import contained, identity, in_order, quotient, same
from coset.session.calculator.functions.signature import Group, Items, Number, SomeItems, Value, Whole
from coset.session.calculator.values import shown

LISTS = Group.named("Lists")
SETS = Group.named("Sets")


@LISTS.function
def len_(list_or_text: Value) -> Number:
    """How many items a list has, or how many characters a text has.

    len([3, 1, 2]) = 3
    len("abc") = 3
    """
    if not isinstance(list_or_text, tuple | str):
        raise UserError(f"len expects a list or a text, but got {shown(list_or_text)}")
    return len(list_or_text)


@LISTS.function
def count(list: Items, *value: Value) -> Number:
    """How many items a list has, or how many of them equal the value.

    count([1, 2, 2]) = 3
    count([1, 2, 2], 2) = 2
    """
    if not value:
        return len(list)
    if len(value) > 1:
        raise UserError("count takes a list and at most one value, as in count(list, value)")
    return sum(same(item, value[0]) for item in list)


@LISTS.function
def sorted_(list: Items) -> Value:
    """The items in ascending order.

    sorted([3, 1, 2]) = [1, 2, 3]
    """
    return tuple(in_order(list))


@LISTS.function
def reversed_(list: Items) -> Value:
    """The items from last to first.

    reversed([1, 2, 3]) = [3, 2, 1]
    """
    return list[::-1]


@LISTS.function
def unique(list: Items) -> Value:
    """Each different item once.

    unique([2, 1, 2.0]) = [2, 1]
    """
    return tuple(_by_identity(list).values())


@LISTS.function
def first(list: SomeItems) -> Value:
    """The first item.

    first([7, 8]) = 7
    """
    return list[0]


@LISTS.function
def last(list: SomeItems) -> Value:
    """The last item.

    last([7, 8]) = 8
    """
    return list[-1]


@LISTS.function
def item(list: SomeItems, position: Whole) -> Value:
    """The item at a position, counting from 1, or from the end with -1.

    item(["a", "b", "c"], 2) = b
    """
    if position == 0 or abs(position) > len(list):
        raise UserError(f"item expects a position from 1 to {len(list)}, but got {shown(position)}")
    return list[position - 1 if position > 0 else position]


@LISTS.function
def index(list: Items, value: Value) -> Value:
    """At which position, counting from 1, the value first stands; null when it is not in the list.

    index(["a", "b"], "b") = 2
    """
    key = identity(value)
    return next((position for position, item in enumerate(list, start=1) if identity(item) == key), None)


@LISTS.function
def contains(list_or_text: Value, value: Value) -> Value:
    """Whether the value is an item of the list, or a part of the text.

    contains([1, 2], 2) = true
    contains("hello", "ell") = true
    """
    return contained(value, list_or_text)


@SETS.function
def union(a: Items, *lists: Items) -> Value:
    """What is in any of the lists.

    union([1, 2], [2, 3]) = [1, 2, 3]
    """
    return tuple(_by_identity(tuple(item for list in (a, *lists) for item in list)).values())


@SETS.function
def intersection(a: Items, *lists: Items) -> Value:
    """What is in all of the lists.

    intersection([1, 2, 3], [3, 2, 5]) = [2, 3]
    """
    others = [set(_by_identity(list)) for list in lists]
    return tuple(item for key, item in _by_identity(a).items() if all(key in other for other in others))


@SETS.function
def difference(a: Items, *lists: Items) -> Value:
    """What is in the first list and in none of the others.

    difference([1, 2, 3], [2]) = [1, 3]
    """
    others = {key for list in lists for key in _by_identity(list)}
    return tuple(item for key, item in _by_identity(a).items() if key not in others)


@SETS.function
def symmetric_difference(a: Items, b: Items) -> Value:
    """What is in exactly one of the two lists.

    symmetric_difference([1, 2], [2, 3]) = [1, 3]
    """
    left, right = _by_identity(a), _by_identity(b)
    only_left = [item for key, item in left.items() if key not in right]
    return tuple(only_left + [item for key, item in right.items() if key not in left])


@SETS.function
def is_subset(a: Items, b: Items) -> Value:
    """Whether everything in a is also in b.

    is_subset([1, 1], [1, 2]) = true
    """
    return set(_by_identity(a)) <= set(_by_identity(b))


@SETS.function
def equal_sets(a: Items, b: Items) -> Value:
    """Whether both hold the same values, whatever their order and number.

    equal_sets([1, 2, 2], [2, 1]) = true
    """
    return set(_by_identity(a)) == set(_by_identity(b))


@SETS.function
def jaccard(a: Items, b: Items) -> Number:
    """How many values are in both lists, divided by how many are in either; 1 for two empty lists.

    jaccard([1, 2, 3], [2, 3, 4]) = 0.5
    """
    left, right = set(_by_identity(a)), set(_by_identity(b))
    return quotient(len(left & right), len(left | right)) if left or right else 1


def _by_identity(list: Items) -> dict[Hashable, Value]:
    found: dict[Hashable, Value] = {}
    for item in list:
        found.setdefault(identity(item), item)
    return found
