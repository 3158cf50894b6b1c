"""The Python API behind `import coset`: one environment, opened, with all that can be asked of it.

In: the path of a `coset.yaml`. Out: an `OpenEnvironment`. The MCP server stands on the same object, so that an agent
and a notebook get the same answers. Nothing here is imported before `coset.open` is called. See docs/python.md.
"""
