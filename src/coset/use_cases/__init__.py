"""What one can do with an environment, each put together once: comprehend, view, recover, sql, check, ask, teach, note,
show, runs, status.

In: a `Workspace`, which is an environment with its sessions, its router and its evidence state. Out: typed results.
Every surface (command line, MCP server, web page, Python) calls these functions and only decides how a result is shown.
"""
