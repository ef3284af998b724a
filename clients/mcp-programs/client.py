"""Uses `ibeam mcp serve` through the SDK for Python, and prints each check as a line of JSON.

Usage: client.py stdio|http legacy|REVISION PROGRAM-OR-URL. MCP_TOKEN has the token for HTTP."""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

TRANSPORT, MODE, TARGET = sys.argv[1:]
TIMEOUT = 60
PROMPT = "Say hello from Python."


def check(name, holds, seen=None):
    print(json.dumps({"check": name, "holds": bool(holds), "seen": repr(seen)}), flush=True)


async def use(client):
    check("connects", client.server_info is None or client.server_info.name == "ibeam", client.server_info)
    check("agrees on the revision", MODE == "legacy" or client.protocol_version == MODE, client.protocol_version)

    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    check("lists tools", sorted(tools) == ["list_sessions", "run", "show_session"], sorted(tools))
    check("reads annotations", tools["show_session"].annotations.read_only_hint, tools["show_session"])

    reports = []

    async def on_progress(progress, total, message):
        reports.append(message)

    result = await client.call_tool("run", {"prompt": PROMPT}, progress_callback=on_progress)
    texts = [content.text for content in result.content]
    check("runs a task", not result.is_error and texts[0] == "Hello.", result)
    session = (result.structured_content or {}).get("session_id")
    check("validates the structured result", session, result)
    check("receives progress", any(session in (report or "") for report in reports), reports)

    result = await client.call_tool("run", {"prompt": "Again.", "session_id": session})
    check("continues a session", result.content[0].text == "Hello again.", result)
    result = await client.call_tool("list_sessions", {})
    listed = [entry["session_id"] for entry in result.structured_content["sessions"]]
    check("lists sessions", session in listed, listed)
    result = await client.call_tool("run", {"prompt": "x", "workspace": "/"})
    check("is refused another directory", result.is_error, result)

    uri = f"ibeam://sessions/{session}"
    resources = [str(resource.uri) for resource in (await client.list_resources()).resources]
    check("lists resources", uri in resources, resources)
    templates = (await client.list_resource_templates()).resource_templates
    check("lists resource templates", len(templates) == 1, templates)
    contents = (await client.read_resource(uri)).contents
    check("reads a resource", PROMPT in contents[0].text, contents)
    for name, request in [("tool", client.call_tool("unknown", {})), ("resource", client.read_resource(f"{uri}0"))]:
        try:
            check(f"is refused an unknown {name}", False, await request)
        except MCPError as error:
            check(f"is refused an unknown {name}", True, error)


async def main():
    if TRANSPORT == "stdio":
        server = StdioServerParameters(command=TARGET, args=["mcp", "serve"], env=dict(os.environ), cwd=os.getcwd())
        async with Client(stdio_client(server), mode=MODE) as client:
            await use(client)
    else:
        headers = {"Authorization": f"Bearer {os.environ['MCP_TOKEN']}"}
        async with httpx2.AsyncClient(headers=headers, timeout=TIMEOUT) as http:
            async with Client(streamable_http_client(TARGET, http_client=http), mode=MODE) as client:
                await use(client)


asyncio.run(asyncio.wait_for(main(), TIMEOUT))
