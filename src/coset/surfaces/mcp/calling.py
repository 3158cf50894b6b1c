"""One tool call, from what a client sent to what it gets back.

In: a name and arguments of any kind. Out: a result with text and structured content; or an error that an agent can act
on: what was wrong, with which input, what to do. An unexpected failure tells its kind and nothing else, for its text
may hold anything. While a call runs, its client hears how it goes; when the client calls it off, the work ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent
from pydantic import ValidationError

from coset.answering.agent.tools import told
from coset.answering.quoting import one_line
from coset.api.environment import Environment
from coset.errors import CosetError
from coset.surfaces.mcp.tools import Tool
from coset.use_cases.cancellation import Progress, Report

SILENCE = 2.0
"""After so many seconds without news a client is told that the call still runs."""
LEAST_APART = 0.1
log = logging.getLogger(__name__)


async def call_tool(
    environment: Environment,
    tools: Mapping[str, Tool],
    name: str,
    arguments: Mapping[str, Any] | None,
    session: ServerSession,
) -> CallToolResult:
    """Carry out a call. Raises `MCPError` for a tool that is not there; every other failure is a result."""
    tool = tools.get(name)
    if tool is None:
        raise MCPError(INVALID_PARAMS, f"there is no tool '{one_line(name, 60)}': use {', '.join(tools)}")
    try:
        asked = tool.arguments.model_validate(arguments or {})
    except ValidationError as error:
        return _failed(_wrong_arguments(tool, error))
    try:
        async with telling(session, tool.name) as report:
            output = await tool.run(environment, asked, report)
    except CosetError as error:
        return _failed(told(error))
    except Exception as error:
        if os.environ.get("COSET_TRACEBACK"):
            log.exception("the tool %s failed", tool.name)
        return _failed(f"unexpected {type(error).__name__} in {tool.name}: a fault of coset's, not of the call")
    return CallToolResult(
        content=[TextContent(type="text", text=output.to_text())], structured_content=output.model_dump(mode="json")
    )


@contextlib.asynccontextmanager
async def telling(session: ServerSession, name: str) -> AsyncIterator[Report]:
    """Sends what the work reports to the client, where it asked for that; progress is told in seconds, which grow."""
    news: asyncio.Queue[Progress] = asyncio.Queue()
    forwarding = asyncio.create_task(_forward(session, name, news))
    try:
        yield news.put_nowait
    finally:
        forwarding.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await forwarding


async def _forward(session: ServerSession, name: str, news: asyncio.Queue[Progress]) -> None:
    started = time.monotonic()
    while True:
        try:
            message = (await asyncio.wait_for(news.get(), SILENCE)).message
            while not news.empty():  # Only the newest counts.
                message = news.get_nowait().message
        except TimeoutError:
            message = f"{name} is still running"
        with contextlib.suppress(Exception):  # A client that does not listen any more is no reason to fail.
            await session.report_progress(round(time.monotonic() - started, 3), None, one_line(message, 200))
        await asyncio.sleep(LEAST_APART)


def _wrong_arguments(tool: Tool, error: ValidationError) -> str:
    wrong = "; ".join(f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {each['msg']}" for each in error.errors()[:3])
    return f"wrong arguments: {one_line(wrong, 300)}. {tool.name} takes {', '.join(tool.arguments.model_fields)}"


def _failed(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
