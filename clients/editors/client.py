"""Uses `ibeam acp` through the SDK for Python, and prints each check as a line of JSON.

Usage: client.py PROGRAM WORKSPACE. The scripted model is described in xtask/src/editors."""

import asyncio
import json
import os
import sys

from acp import PROTOCOL_VERSION, Client, RequestError, spawn_agent_process, text_block
from acp.schema import AllowedOutcome, ClientCapabilities, RequestPermissionResponse

PROGRAM, WORKSPACE = sys.argv[1:]


def check(name, holds, seen=None):
    print(json.dumps({"check": name, "holds": bool(holds), "seen": repr(seen)}), flush=True)


async def refused(request):
    try:
        return await request
    except RequestError as error:
        return error


class Editor(Client):
    def __init__(self):
        self.updates = []
        self.questions = []

    async def request_permission(self, options, session_id, tool_call, **_):
        self.questions.append((tool_call, options))
        option = next(option for option in options if option.kind == "allow_once")
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option.option_id))

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)

    def of(self, kind):
        return [update for update in self.updates if update.session_update == kind]

    def text(self, kind):
        return "".join(update.content.text for update in self.of(kind))


async def use(editor, agent):
    init = await agent.initialize(protocol_version=PROTOCOL_VERSION, client_capabilities=ClientCapabilities())
    check("initializes", init.protocol_version == 1 and init.agent_info.name == "ibeam", init)
    methods = [method.id for method in init.auth_methods]
    check("authenticates", await agent.authenticate(method_id=methods[0]) is not None, methods)
    session = await agent.new_session(cwd=WORKSPACE, mcp_servers=[])
    identity = session.session_id
    check("begins a session", identity and session.modes.current_mode_id == "agent", session)

    async def prompt(words):
        editor.updates.clear()
        return await agent.prompt(session_id=identity, prompt=[text_block(words)])

    response = await prompt("Say hello.")
    check("receives an answer", editor.text("agent_message_chunk") == "Hello.", editor.updates)
    check("ends the turn", response.stop_reason == "end_turn", response)
    await prompt("Run a command.")
    check("is asked for a permission", len(editor.questions) == 1, editor.questions)
    check("allows a command", os.path.exists(os.path.join(WORKSPACE, "python.txt")), editor.updates)
    check("receives a call", editor.of("tool_call")[0].kind == "execute", editor.updates)
    check("receives its end", editor.of("tool_call_update")[-1].status == "completed", editor.updates)

    slow = asyncio.create_task(prompt("Wait."))
    while "Slow" not in editor.text("agent_message_chunk"):
        await asyncio.sleep(0.02)
    await agent.cancel(session_id=identity)
    response = await slow
    check("cancels a prompt", response.stop_reason == "cancelled", response)
    options = await agent.set_config_option(config_id="mode", session_id=identity, value="ask")
    check("sets an option", options.config_options[0].current_value == "ask", options)
    check("sets the mode", await agent.set_session_mode(session_id=identity, mode_id="agent") is not None)
    listed = await agent.list_sessions(cwd=WORKSPACE)
    check("lists the session", [entry.session_id for entry in listed.sessions] == [identity], listed)
    await agent.close_session(session_id=identity)
    error = await refused(agent.prompt(session_id=identity, prompt=[text_block("Gone.")]))
    check("closes the session", getattr(error, "code", None) == -32002, error)
    editor.updates.clear()
    await agent.load_session(cwd=WORKSPACE, session_id=identity, mcp_servers=[])
    await asyncio.sleep(0.2)
    check("loads the session", editor.text("user_message_chunk").startswith("Say hello."), editor.updates)


async def main():
    editor = Editor()
    async with spawn_agent_process(editor, PROGRAM, "acp", cwd=WORKSPACE) as (agent, _process):
        await asyncio.wait_for(use(editor, agent), 120)


asyncio.run(main())
