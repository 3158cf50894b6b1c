"""The reference of the Python interface, out of the docstrings: docs/python-reference.md.

In: `coset.Environment` and what its methods give. Out: Markdown, one heading a method with its signature, what it does
and an example. A test fails when the page is stale, or when a method has no example.
"""

from __future__ import annotations

import inspect

import coset
from coset.use_cases.results import Tabular

CLASSES = (coset.Environment, Tabular, coset.Rows, coset.SqlResult, coset.View, coset.Answer)
HEAD = """# Python reference

Made from the docstrings by `python docs/python_reference.py > docs/python-reference.md`. [Python](python.md) walks
through it with examples that run.
"""


def methods_of(kind: type) -> list[tuple[str, object]]:
    """What a class itself has to offer, in the order in which it is written."""
    return [
        (name, value)
        for name, value in vars(kind).items()
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)) and value.__doc__
    ]


def reference() -> str:
    parts = [
        HEAD,
        "## coset.open",
        "`coset.open{}`".format(str(inspect.signature(coset.open)).replace("'", "")),
        _text(coset.open),
    ]
    for kind in CLASSES:
        parts += [f"## {kind.__name__}", _text(kind)]
        for name, value in methods_of(kind):
            if isinstance(value, property):
                parts += [f"### {kind.__name__}.{name}", _text(value)]
            else:
                signature = (
                    str(inspect.signature(value)).replace("'", "").replace("(self, ", "(").replace("(self)", "()")
                )  # type: ignore[arg-type]
                parts += [f"### {kind.__name__}.{name}", f"`{name}{signature}`", _text(value)]
    return "\n\n".join(part for part in parts if part).replace("\n\n\n", "\n\n") + "\n"


def _text(thing: object) -> str:
    """A docstring, its examples as code."""
    words, code, out = [], [], []
    for line in inspect.cleandoc(inspect.getdoc(thing) or "").splitlines():
        (code if line.startswith((">>>", "...")) else words).append(line)
    out = ["\n".join(words).strip()]
    if code:
        out.append("```python\n" + "\n".join(code) + "\n```")
    return "\n\n".join(out)


if __name__ == "__main__":
    print(reference(), end="")
