"""Clients of others against `coset mcp`: `python benchmarks/mcp_clients.py ENVIRONMENT [COMMAND ...]`.

In: a comprehended environment, and how the server is started (`coset` if not said). Out: for each client library that
is installed here (`mcp`, FastMCP, pydantic-ai, langchain-mcp-adapters), how many tools and resources it saw,
what a SELECT gave, and what it was told about a table that is not there. Exit code 1 where one of them failed.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

GOOD, BAD = "SELECT 40 + 2 AS n", "SELECT no_such_column FROM nothing.here"
Tried = tuple[int, int, str, str]


async def by_mcp(command: list[str]) -> Tried:
    from mcp import Client, StdioServerParameters

    async with Client(StdioServerParameters(command=command[0], args=command[1:])) as client:
        tools, resources = await client.list_tools(), await client.list_resources()
        good = await client.call_tool("sql", {"query": GOOD})
        bad = await client.call_tool("sql", {"query": BAD})
        return len(tools.tools), len(resources.resources), str(good.structured_content), _text(bad.content)


async def by_fastmcp(command: list[str]) -> Tried:
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    async with Client(StdioTransport(command[0], command[1:])) as client:
        tools, resources = await client.list_tools(), await client.list_resources()
        good = await client.call_tool("sql", {"query": GOOD})
        bad = await client.call_tool("sql", {"query": BAD}, raise_on_error=False)
        return len(tools), len(resources), str(good.structured_content), _text(bad.content)


async def by_pydantic_ai(command: list[str]) -> Tried:
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai.mcp import MCPToolset

    async with MCPToolset(StdioTransport(command[0], command[1:])) as server:
        tools, resources = await server.list_tools(), await server.list_resources()
        good = await server.direct_call_tool("sql", {"query": GOOD})
        try:
            bad = str(await server.direct_call_tool("sql", {"query": BAD}))
        except Exception as error:
            bad = str(error)
        return len(tools), len(resources), str(good), bad


async def by_langchain(command: list[str]) -> Tried:
    from langchain_mcp_adapters.client import MultiServerMCPClient

    client = MultiServerMCPClient({"coset": {"transport": "stdio", "command": command[0], "args": command[1:]}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    resources = await client.get_resources("coset")
    good = await tools["sql"].ainvoke({"query": GOOD})
    try:
        bad = str(await tools["sql"].ainvoke({"query": BAD}))
    except Exception as error:
        bad = str(error)
    return len(tools), len(resources), str(good), bad


CLIENTS: dict[str, Callable[[list[str]], Awaitable[Tried]]] = {
    "mcp": by_mcp, "fastmcp": by_fastmcp, "pydantic-ai-slim": by_pydantic_ai, "langchain-mcp-adapters": by_langchain,
}  # fmt: skip


def _text(content: Any) -> str:
    return " ".join(getattr(part, "text", "") for part in content)


def main() -> None:
    environment, *given = sys.argv[1:]
    command = [*(given or ["coset"]), "mcp", "-e", environment]
    failed = tried = 0
    for name, run in CLIENTS.items():
        try:
            said = f"{name} {version(name)}"
        except PackageNotFoundError:
            print(f"{name}: not installed")
            continue
        tried += 1
        try:
            tools, resources, good, bad = asyncio.run(run(command))
        except Exception as error:
            failed += 1
            print(f"{said}: FAILED: {type(error).__name__}: {str(error)[:300]}")
            continue
        is_right = bool(re.search(r"\b42\b", good)) and "nothing" in bad
        failed += not is_right
        print(
            f"{said}: {'well' if is_right else 'NOT WELL'}; {tools} tools, {resources} resources; "
            f"{good[:80]}; {bad[:120]}"
        )
    sys.exit(bool(failed) or not tried)


if __name__ == "__main__":
    main()
