"""The Python API behind `import coset`: one `Environment`, with all that can be asked of it.

In: the path of a `coset.yaml`. Out: an `Environment`. Command line, MCP server and web page stand on the same object,
so that a person, an agent and a notebook get the same answers. See docs/python.md.
"""
