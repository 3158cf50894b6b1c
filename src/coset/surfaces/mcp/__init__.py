"""The MCP server: an environment as tools, resources and a prompt for any agent that speaks the protocol.

In: an `Environment`. Out: a server over standard input and output or over HTTP. See docs/mcp.md.
"""
