"""The server's handlers, put together: what a client may list, call and read.

In: an open environment. Out: a `Server` of the `mcp` library, ready for any transport. Holds no state of its own, so
that any number of clients can share it.
"""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from coset import __version__
from coset.api.environment import Environment
from coset.errors import CosetError, UserError
from coset.surfaces.mcp import guidance, resources
from coset.surfaces.mcp.arguments import input_schema, output_schema
from coset.surfaces.mcp.calling import call_tool
from coset.surfaces.mcp.tools import Tool, offered

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


def make_server(environment: Environment, *, read_only: bool = False) -> Server[Any]:
    """The server of an environment. `read_only` leaves out the tool that keeps corrections."""
    tools = offered(environment, read_only=read_only)
    definitions = [definition(tool) for tool in tools.values()]

    async def list_tools(context: Context, asked: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=definitions)

    async def call(context: Context, asked: types.CallToolRequestParams) -> types.CallToolResult:
        return await call_tool(environment, tools, asked.name, asked.arguments, context.session)

    async def list_resources(context: Context, asked: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=resources.resources(environment))

    async def list_templates(
        context: Context, asked: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=resources.templates())

    async def read(context: Context, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        address = str(asked.uri)
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
            name=guidance.PROMPT_NAME, title=guidance.PROMPT_TITLE, description=guidance.PROMPT_DESCRIPTION,
            arguments=[question],
        )  # fmt: skip
        return types.ListPromptsResult(prompts=[prompt])

    async def get_prompt(context: Context, asked: types.GetPromptRequestParams) -> types.GetPromptResult:
        question = (asked.arguments or {}).get("question", "").strip()
        if asked.name != guidance.PROMPT_NAME:
            raise MCPError(types.INVALID_PARAMS, f"there is no such prompt: there is {guidance.PROMPT_NAME}")
        if not question:
            raise MCPError(types.INVALID_PARAMS, f"{guidance.PROMPT_NAME} needs the argument 'question'")
        said = types.TextContent(type="text", text=guidance.prompt_text(question))
        return types.GetPromptResult(
            description=guidance.PROMPT_DESCRIPTION, messages=[types.PromptMessage(role="user", content=said)]
        )

    return Server(
        "coset",
        version=__version__,
        title="coset",
        instructions=guidance.INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )
