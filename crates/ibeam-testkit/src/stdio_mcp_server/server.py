"""An MCP server over stdio that misbehaves as its arguments say."""

import json
import os
import signal
import subprocess
import sys
import time

HOW = dict(argument.partition("=")[::2] for argument in sys.argv[1:])


def note(file, line):
    with open(file, "a") as out:
        out.write(line + "\n")


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words, error=False):
    return {"content": [{"type": "text", "text": words}], "isError": error}


def tool(name, /, only_reads=False, **properties):
    schema = {"type": "object", "properties": properties}
    hints = {"readOnlyHint": True} if only_reads or "all_read" in HOW else {}
    return {"name": name, "description": f"Does {name}.", "inputSchema": schema, "annotations": hints}


TOOLS = [
    tool("echo", only_reads=True, text={"type": "string"}),
    tool("variable", name={"type": "string"}),
    tool("fail"),
    tool("picture"),
    tool("crash"),
    tool("silence"),
    tool("long_line"),
    tool("long_text"),
    tool("await_file", name={"type": "string"}),
]
if "asks" in HOW:
    TOOLS.append(tool("ask"))
if "search" in HOW:
    TOOLS.append(tool("search", only_reads=True, query={"type": "string"}))


REFUSAL = {}
UNKNOWN_METHOD = {}
LISTED = 0
SUBSCRIBED = {}
REVISION = "2026-07-28"


def call(name, arguments):
    if name == "echo":
        return text(arguments["text"])
    if name == "variable":
        return text(os.environ.get(arguments["name"], "(not set)"))
    if name == "ask":
        return text(ask())
    if name == "search":
        return text(f"found {arguments['query']}")
    if name == "fail":
        return text("out of paper", error=True)
    if name == "picture":
        return {"content": [{"type": "image", "mimeType": "image/png", "data": "AAECAw=="}]}
    if name == "crash":
        sys.stderr.write("\x1b[31mthe disk is on fire\n")
        sys.stderr.flush()
        os._exit(7)
    if name == "silence":
        return None
    if name == "long_line":
        sys.stdout.write("x" * (17 << 20))
        sys.stdout.flush()
        return text("after the line")
    if name == "long_text":
        return text("begin " + "x" * 100_000 + " end")
    if name == "await_file":
        while not os.path.exists(arguments["name"]):
            time.sleep(0.01)
        return text("it is there")


def ask():
    """Asks the user a question and returns the action with the value."""
    branch = {"type": "string", "title": "Branch", "default": "main"}
    schema = {"type": "object", "properties": {"branch": branch}, "required": ["branch"]}
    question = {"message": "Which branch?", "requestedSchema": schema}
    send(id="question", method="elicitation/create", params=question)
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == "question":
            result = message["result"]
            return " ".join([result["action"], *result.get("content", {}).values()])


def hold(fifo):
    """Holds the pipe, as do a child and one that has left the session."""
    pipe = os.open(fifo, os.O_WRONLY)
    os.set_inheritable(pipe, True)
    for leaves in (False, True):
        nothing = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        subprocess.Popen(["sleep", "60"], close_fds=False, start_new_session=leaves, **nothing)
    os.write(pipe, b"held\n")


def a_list(**entries):
    return {**entries, "ttlMs": int(HOW["ttl"])} if "ttl" in HOW else entries


def answer(message):
    global LISTED, SUBSCRIBED
    method = message.get("method")
    capabilities = {"tools": {"listChanged": "announces" in HOW}, **{name: {} for name in ("prompts", "resources") if name in HOW}}
    if "stateless" in HOW:
        if method == "server/discover":
            return {"resultType": "complete", "supportedVersions": [REVISION], "capabilities": capabilities}
        metadata = message.get("params", {}).get("_meta", {})
        if metadata.get("io.modelcontextprotocol/protocolVersion") != REVISION:
            return UNKNOWN_METHOD
        if method == "subscriptions/listen":
            SUBSCRIBED = message["params"]["notifications"]
            send(method="notifications/subscriptions/acknowledged", params={"notifications": SUBSCRIBED})
            return None
    if method == "initialize":
        version = HOW.get("version", message["params"]["protocolVersion"])
        return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": {"name": "t"}}
    if method == "resources/list":
        return a_list(resources=[{"uri": "memo:one", "name": "One"}])
    if method == "resources/templates/list":
        return a_list(resourceTemplates=[{"uriTemplate": "memo:{name}", "name": "Any"}])
    if method == "resources/read":
        return {"contents": [{"uri": message["params"]["uri"], "text": f"Read {message['params']['uri']}"}]}
    if method == "prompts/list":
        arguments = [{"name": "file", "required": True}, {"name": "aim"}]
        if "renames" in HOW:
            send(method="notifications/prompts/list_changed")
        return a_list(prompts=[{"name": "review", "description": "Reviews a file", "arguments": arguments}])
    if method == "prompts/get":
        words = json.dumps(message["params"]["arguments"])
        return {"messages": [{"role": "user", "content": {"type": "text", "text": f"Review with {words}"}}]}
    if method == "tools/list":
        at = int(message["params"].get("cursor", "0"))
        if at == 0:
            time.sleep(float(HOW.get("slow_list", "0")))
        if "long_list" in HOW:
            return {"tools": [tool("t", **{"x" * (2 << 20): {}})]}
        if "refuse" in HOW:
            return REFUSAL
        LISTED += at == 0
        if "grows" in HOW and at == 0 and LISTED == 2:
            TOOLS.append(tool("later"))
        page = a_list(tools=TOOLS[at : at + 4])
        return page if at + 4 >= len(TOOLS) else {**page, "nextCursor": str(at + 4)}
    if method == "tools/call":
        if "announces" in HOW and ("stateless" not in HOW or SUBSCRIBED.get("toolsListChanged")):
            send(method="notifications/tools/list_changed")
        return call(message["params"]["name"], message["params"].get("arguments", {}))


def main():
    if "starts" in HOW:
        note(HOW["starts"], "started")
    if "deaf" in HOW:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "hold" in HOW:
        hold(HOW["hold"])
    if "exit" in HOW:
        sys.stderr.write("\x1b[1mno licence\x07 found\n")
        sys.exit(int(HOW["exit"]))
    if "hang" in HOW:
        time.sleep(600)
    if "flood_stdout" in HOW:
        while True:
            sys.stdout.write("y\n" * 10_000)
    if "flood_stderr" in HOW:
        for _ in range(64):
            sys.stderr.write("x" * (1 << 20))
    if "described" in HOW:
        with open(HOW["described"]) as words:
            TOOLS[0]["description"] = words.read()
    if "also" in HOW:
        TOOLS.insert(0, tool(HOW["also"]))
    for line in sys.stdin:
        message = json.loads(line)
        if "log" in HOW:
            note(HOW["log"], message["method"])
        result = answer(message)
        if result is UNKNOWN_METHOD:
            send(id=message["id"], error={"code": -32601, "message": "unknown method"})
        elif result is REFUSAL:
            send(id=message["id"], error={"code": -32000, "message": "not today " * 1000})
        elif "id" in message and result is not None:
            send(id=message["id"], result=result)
    if "deaf" in HOW:
        time.sleep(600)


main()
