"""An MCP server that is written with the SDK for Python. Usage: server.py [PORT]; without a port, over stdio."""

import sys

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("python")


class Person(BaseModel):
    name: str
    age: int


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def describe(name: str) -> Person:
    """Returns a structured result."""
    return Person(name=name, age=36)


@server.tool()
async def count(steps: int, context: Context) -> str:
    """Counts and reports each step."""
    for step in range(steps):
        await context.report_progress(step + 1, steps, f"step {step + 1}")
    return f"counted to {steps}"


@server.tool()
def fail() -> str:
    """Fails."""
    raise ToolError("this tool always fails")


@server.resource("note://one")
def note() -> str:
    """A note."""
    return "the text of a note"


@server.prompt()
def greet(name: str) -> str:
    """Asks for a greeting."""
    return f"Greet {name}."


if sys.argv[1:]:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run("stdio")
