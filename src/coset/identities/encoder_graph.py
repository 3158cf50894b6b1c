"""What every layer of a text encoder reckons anew though it is the same in all of them, reckoned once.

In: an ONNX file of ours as bytes. Out: the same model, in which the shape that is given to the heads of a layer, and
their scale, come from the first layer. onnxruntime runs them in each, because it cannot know that they are equal: that
is a quarter of its steps, and a twenty-fifth of the time of a question. No number of the model changes, nor a result.

The file is a protocol buffer: fields of a number, a length and a content. Only the few that name the steps of the
graph are read here; weights are passed on as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

GRAPH, NODE, OUTPUT = 7, 1, 12
"""The graph among the fields of a model; its nodes and its outputs among those of the graph."""
TAKEN, GIVEN, NAME = 1, 2, 1
"""What a node takes and what it gives among its fields; the name among those of an output."""
VARINT, EIGHT_BYTES, CONTENT, FOUR_BYTES = 0, 1, 2, 5
"""How a field is stored: with a length, or without."""
_SAME_IN_ALL = re.compile(rb"/layers\.\d+/((?:Concat|Sqrt)(?:_\d+)?_output_0)")
"""The shapes and scales of the heads, as the exporter names them."""


@dataclass
class _Node:
    takes: list[bytes]
    gives: list[bytes]
    rest: list[memoryview]


def with_shared_shapes(model: bytes) -> bytes:
    """The model without the steps that repeat what the first layer found. A graph of other names stays as it is."""
    parts: list[bytes | memoryview] = []
    for number, whole, content in _fields(memoryview(model)):
        parts += _graph(content) if number == GRAPH else [whole]
    return b"".join(parts)


def _graph(content: memoryview) -> list[bytes | memoryview]:
    nodes: list[_Node] = []
    others: list[bytes | memoryview] = []
    needed: set[bytes] = set()
    for number, whole, inner in _fields(content):
        if number == NODE:
            nodes.append(_node(inner))
            continue
        others.append(whole)
        if number == OUTPUT:
            needed.update(bytes(name) for each, _, name in _fields(inner) if each == NAME)
    given = {name for node in nodes for name in node.gives}
    kept: list[bytes | memoryview] = []
    # A node stands after those whose results it takes, so that going back all that is needed is known.
    for node in reversed(nodes):
        if needed.isdisjoint(node.gives):
            continue
        node.takes = [_in_first_layer(name, given) for name in node.takes]
        needed.update(node.takes)
        kept.append(_written(node))
    parts = [*reversed(kept), *others]
    return [_head(GRAPH, sum(map(len, parts))), *parts]


def _in_first_layer(name: bytes, given: set[bytes]) -> bytes:
    same = _SAME_IN_ALL.fullmatch(name)
    first = b"/layers.0/" + same[1] if same else name
    return first if first in given else name


def _node(content: memoryview) -> _Node:
    node = _Node([], [], [])
    for number, whole, inner in _fields(content):
        if number == TAKEN:
            node.takes.append(bytes(inner))
        elif number == GIVEN:
            node.gives.append(bytes(inner))
        else:
            node.rest.append(whole)
    return node


def _written(node: _Node) -> bytes:
    names = [(TAKEN, name) for name in node.takes] + [(GIVEN, name) for name in node.gives]
    content = b"".join([*(_head(number, len(name)) + name for number, name in names), *node.rest])
    return _head(NODE, len(content)) + content


def _fields(content: memoryview) -> Iterator[tuple[int, memoryview, memoryview]]:
    """(number, whole field, its content) of each field."""
    at = 0
    while at < len(content):
        begin = at
        tag, at = _number(content, at)
        kind, length = tag & 7, 0
        if kind == CONTENT:
            length, at = _number(content, at)
        elif kind == VARINT:
            _, at = _number(content, at)
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            length = 8 if kind == EIGHT_BYTES else 4
        else:
            raise ValueError("not a protocol buffer")
        yield tag >> 3, content[begin : at + length], content[at : at + length]
        at += length


def _number(content: memoryview, at: int) -> tuple[int, int]:
    """A whole number, seven bits to a byte, the lowest first; and where it ends."""
    found, shift = 0, 0
    while content[at] & 0x80:
        found |= (content[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return found | content[at] << shift, at + 1


def _head(number: int, length: int) -> bytes:
    """What stands before a content of a length."""
    head = bytearray([number << 3 | CONTENT])
    while length > 0x7F:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    head.append(length)
    return bytes(head)
