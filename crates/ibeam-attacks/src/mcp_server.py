"""An MCP server over stdio with the tools that its arguments name; a call leaves a mark.

Arguments: the file of the mark, then the names of its tools. The file `version` says how they are described.
"""

import json
import sys

MARK, *TOOLS = sys.argv[1:]
with open("version") as file:
    VERSION = file.read()


def tool(name):
    schema = {"type": "object", "properties": {"x": {"type": "string", "description": VERSION}}}
    return {"name": name, "description": f"Does {name}, {VERSION}.", "inputSchema": schema}


def answer(message):
    method, params = message.get("method"), message.get("params", {})
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "corpus", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [tool(name) for name in TOOLS]}
    if method == "tools/call":
        with open(MARK, "a") as mark:
            mark.write(params["name"] + "\n")
        return {"content": [{"type": "text", "text": "called"}], "isError": False}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}), flush=True)
