"""The MCP server's handlers: list and call tools, list and read resources, give the prompt.

In: an open environment. Out: a `Server` of the `mcp` library, ready for any transport. Holds no state of its own, so
that any number of clients can share it. A tool that fails gives an error result in one sentence, never a traceback.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent
from pydantic import ValidationError

from coset import __version__
from coset.answering.agent.tools import told
from coset.answering.quoting import one_line
from coset.api.environment import Environment
from coset.errors import CosetError, UserError
from coset.people import ANYONE, Person, acting_for
from coset.surfaces.mcp import resources
from coset.surfaces.mcp.messages import input_schema, output_schema
from coset.surfaces.mcp.tools import Tool, offered
from coset.surfaces.metrics import Metrics
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
            # Not `wait_for`: before Python 3.12 it forgets that it was cancelled where news arrive at the same moment.
            async with asyncio.timeout(SILENCE):
                message = (await news.get()).message
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


Context = ServerRequestContext[Any, Any]


def definition(tool: Tool) -> types.Tool:
    """What a client is told of a tool."""
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=input_schema(tool.arguments),
        output_schema=output_schema(tool.output),
        annotations=types.ToolAnnotations(read_only_hint=tool.reads_only),
    )


PERSON = "coset.person"
"""Where a request says who sent it."""


def person_of(context: Context) -> Person:
    """Who sent a request: whoever the gate let in; over standard input and output, whoever started us."""
    person = context.request.scope.get(PERSON) if context.request is not None else None
    return person if isinstance(person, Person) else ANYONE


def make_server(environment: Environment, *, read_only: bool = False, metrics: Metrics | None = None) -> Server[Any]:
    """The server of an environment. `read_only` leaves out the tools that keep corrections; whoever may not use a tool
    is not offered it."""
    tools = offered(environment, read_only=read_only)
    counted = metrics or Metrics()

    def of(context: Context) -> dict[str, Tool]:
        person = person_of(context)
        return {name: tool for name, tool in tools.items() if person.may(tool.right)}

    async def list_tools(context: Context, asked: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[definition(tool) for tool in of(context).values()])

    async def call(context: Context, asked: types.CallToolRequestParams) -> types.CallToolResult:
        person = person_of(context)
        if asked.name in tools and not person.may(tools[asked.name].right):
            counted.count("coset_refused_total", why="right")
            return _failed(f"{person.name} may not use {asked.name}: it needs the right '{tools[asked.name].right}'")
        kind = asked.name if asked.name in tools else "unknown"
        with acting_for(person), counted.request(kind) as request:
            result = await call_tool(environment, tools, asked.name, asked.arguments, context.session)
            request.failed = bool(result.is_error)
        return result

    async def list_resources(context: Context, asked: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=resources.resources(environment))

    async def list_templates(
        context: Context, asked: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=resources.templates())

    async def read(context: Context, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        address = str(asked.uri)
        if not person_of(context).may("look"):
            raise MCPError(types.INVALID_PARAMS, "reading needs the right 'look'")
        try:
            text = await environment.run_in_thread(lambda call: resources.read(environment, address))
        except CosetError as error:
            code = types.INVALID_PARAMS if isinstance(error, UserError) else types.INTERNAL_ERROR
            raise MCPError(code, str(error)) from None
        content = types.TextResourceContents(uri=address, text=text, mime_type=resources.TEXT)
        return types.ReadResourceResult(contents=[content])

    async def list_prompts(context: Context, asked: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        question = types.PromptArgument(name="question", description="The question, in plain words.", required=True)
        prompt = types.Prompt(
            name=resources.PROMPT_NAME, title=resources.PROMPT_TITLE, description=resources.PROMPT_DESCRIPTION,
            arguments=[question],
        )  # fmt: skip
        return types.ListPromptsResult(prompts=[prompt])

    async def get_prompt(context: Context, asked: types.GetPromptRequestParams) -> types.GetPromptResult:
        question = (asked.arguments or {}).get("question", "").strip()
        if asked.name != resources.PROMPT_NAME:
            raise MCPError(types.INVALID_PARAMS, f"there is no such prompt: there is {resources.PROMPT_NAME}")
        if not question:
            raise MCPError(types.INVALID_PARAMS, f"{resources.PROMPT_NAME} needs the argument 'question'")
        said = types.TextContent(type="text", text=resources.prompt_text(question))
        return types.GetPromptResult(
            description=resources.PROMPT_DESCRIPTION, messages=[types.PromptMessage(role="user", content=said)]
        )

    return Server(
        "coset",
        version=__version__,
        title="coset",
        instructions=resources.INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )
