"""Drives a run through claude-agent-sdk. Usage: claude.py CLI WORKSPACE FAILING_URL; the model's script is in sdks.rs."""

import asyncio
import sys
from pathlib import Path

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
    create_sdk_mcp_server,
    query,
    tool,
)

CLI, WORKSPACE, FAILING_URL = sys.argv[1:]
PATIENCE = 60
failed = 0


def check(name, holds, seen=None):
    global failed
    failed += not holds
    print(f"{'PASS' if holds else 'FAIL'} claude-agent-sdk: {name}" + ("" if holds else f"\n  seen: {seen!r}"), flush=True)


def options(**given):
    return ClaudeAgentOptions(cli_path=CLI, cwd=WORKSPACE, **given)


def of(kind, messages):
    return [message for message in messages if isinstance(message, kind)]


def blocks(kind, messages):
    held = [message.content for message in messages if isinstance(getattr(message, "content", None), list)]
    return [block for content in held for block in content if isinstance(block, kind)]


async def one_turn():
    messages = [message async for message in query(prompt="make a file", options=options(permission_mode="acceptEdits"))]
    inits = [message for message in of(SystemMessage, messages) if message.subtype == "init"]
    uses, results = blocks(ToolUseBlock, messages), blocks(ToolResultBlock, messages)
    ends = of(ResultMessage, messages)
    end = ends[-1] if ends else None
    check("a run begins with its session", len(inits) == 1 and inits[0].data["session_id"], inits)
    check("a call is a tool use", [(use.name, use.input.get("content")) for use in uses] == [("Write", "hello\n")], uses)
    ids = [result.tool_use_id for result in results]
    check("its result is under its id", ids == [use.id for use in uses] and not results[0].is_error, results)
    texts = [block.text for message in of(AssistantMessage, messages) for block in message.content if isinstance(block, TextBlock)]
    check("texts are whole", texts[-1:] == ["The file is made."], texts)
    check("one result ends the run", len(ends) == 1 and messages[-1] is end, [type(message).__name__ for message in messages])
    check("the result is the answer", end.subtype == "success" and not end.is_error and end.result == "The file is made.", end)
    check("usage and turns are counted", end.usage["input_tokens"] > 0 and end.usage["output_tokens"] > 0 and end.num_turns == 2, end)
    check("the session is the same", end.session_id == inits[0].data["session_id"], end.session_id)
    check("the prompt is not said again", not blocks(TextBlock, of(UserMessage, messages)), messages)
    written = Path(WORKSPACE, "hello.txt")
    check("the file is written", written.is_file() and written.read_text() == "hello\n")
    return end.session_id


async def resumed(session):
    given = options(resume=session, include_partial_messages=True)
    messages = [message async for message in query(prompt="and now?", options=given)]
    end = messages[-1]
    deltas = [message.event.get("delta", {}).get("text", "") for message in of(StreamEvent, messages)]
    check("pieces of the answer come as they are", "".join(deltas) == "It says hello.", deltas)
    check("a session is resumed", end.session_id == session and end.result == "It says hello.", end)


async def conversation():
    async with ClaudeSDKClient(options(allowed_tools=["Read"])) as client:
        check("the server introduces itself", "commands" in (await client.get_server_info() or {}))
        answers, sessions = [], set()
        for prompt in ["first", "second"]:
            await client.query(prompt)
            end = [message async for message in client.receive_response()][-1]
            answers.append(end.result)
            sessions.add(end.session_id)
        check("two turns are one session", answers == ["One.", "Two."] and len(sessions) == 1, (answers, sessions))
        try:
            await client.set_permission_mode("bypassPermissions")
            check("a wider permission mode is refused", False)
        except Exception as error:
            check("a wider permission mode is refused", "at start" in str(error), error)
        await client.set_model("haiku")
        await client.query("third")
        end = [message async for message in client.receive_response()][-1]
        check("another model holds from then on", any("haiku" in model for model in end.model_usage), end.model_usage)


async def served():
    asked = []

    @tool("add", "Adds two numbers.", {"a": float, "b": float})
    async def add(args):
        asked.append(args)
        return {"content": [{"type": "text", "text": f"the sum is {args['a'] + args['b']}"}]}

    server = create_sdk_mcp_server("calc", "1.0.0", [add])
    given = options(mcp_servers={"calc": server}, allowed_tools=["mcp__calc__add"])
    messages = [message async for message in query(prompt="add", options=given)]
    inits = [message for message in of(SystemMessage, messages) if message.subtype == "init"]
    servers = [(server["name"], server["status"]) for server in inits[0].data["mcp_servers"]]
    check("a server of the SDK is connected", servers == [("calc", "connected")], servers)
    check("its tool is called", asked == [{"a": 1, "b": 2}], asked)
    names, results = [use.name for use in blocks(ToolUseBlock, messages)], blocks(ToolResultBlock, messages)
    check("the call has its name", names == ["mcp__calc__add"], names)
    check("its result is the tool's", "the sum is 3" in str(results[0].content) and not results[0].is_error, results)


async def hooked():
    before, after = [], []

    def decided(**given):
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **given}}

    async def judge(given, tool_use_id, context):
        before.append((given["tool_name"], given["tool_input"]["file_path"].rsplit("/", 1)[-1], tool_use_id))
        if before[-1][1] == "guarded.txt":
            return decided(permissionDecision="deny", permissionDecisionReason="this file is guarded")
        return decided(permissionDecision="allow", updatedInput={**given["tool_input"], "content": "by a hook\n"})

    async def watch(given, tool_use_id, context):
        after.append((given["tool_name"], given["tool_response"]))
        return {}

    hooks = {"PreToolUse": [HookMatcher(matcher="Write|Edit", hooks=[judge])], "PostToolUse": [HookMatcher(hooks=[watch])]}
    async with ClaudeSDKClient(options(permission_mode="acceptEdits", hooks=hooks)) as client:
        await client.query("write guarded.txt")
        messages = [message async for message in client.receive_response()]
        refused = [result for result in blocks(ToolResultBlock, messages) if result.is_error]
        check("a hook refuses a call", len(refused) == 1 and "this file is guarded" in str(refused[0].content), messages)
        check("and it is not done", not Path(WORKSPACE, "guarded.txt").exists())
        await client.query("write changed.txt")
        messages = [message async for message in client.receive_response()]
    written = Path(WORKSPACE, "changed.txt")
    check("the input of a hook is what runs", written.is_file() and written.read_text() == "by a hook\n", messages)
    check("a hook is called once for each call", [(name, file) for name, file, _ in before] == [("Write", "guarded.txt"), ("Write", "changed.txt")], before)
    check("with its id", all(id for _, _, id in before), before)
    check("a hook hears of what was done", [name for name, _ in after] == ["Write"] and after[0][1], after)


async def asked():
    seen = []

    async def decide(name, input, context):
        seen.append((name, input["file_path"].rsplit("/", 1)[-1]))
        return PermissionResultAllow() if seen[-1][1] == "yes.txt" else PermissionResultDeny(message="not this one")

    async with ClaudeSDKClient(options(can_use_tool=decide)) as client:
        for name in ["yes.txt", "no.txt"]:
            await client.query(f"write {name}")
            messages = [message async for message in client.receive_response()]
            refused = [result for result in blocks(ToolResultBlock, messages) if result.is_error]
            check(f"{name} is decided by the callback", bool(refused) == (name == "no.txt"), messages)
    check("the callback is asked for each call", seen == [("Write", "yes.txt"), ("Write", "no.txt")], seen)
    check("what it allows is done", Path(WORKSPACE, "yes.txt").is_file())
    check("what it denies is not", not Path(WORKSPACE, "no.txt").exists())


async def unasked():
    messages = [message async for message in query(prompt="write it", options=options())]
    refused = [result for result in blocks(ToolResultBlock, messages) if result.is_error]
    check("without leave nothing is written", len(refused) == 1 and not Path(WORKSPACE, "unasked.txt").exists(), messages)


async def interrupted():
    async with ClaudeSDKClient(options(permission_mode="bypassPermissions")) as client:
        await client.query("wait for ever")
        async for message in client.receive_messages():
            if isinstance(message, AssistantMessage):
                break
        await client.interrupt()
        end = [message async for message in client.receive_response()][-1]
        check("an interrupt ends the turn", isinstance(end, ResultMessage) and end.is_error, end)
        await client.query("go on")
        end = [message async for message in client.receive_response()][-1]
        check("and the next turn goes on", end.result == "Here again." and not end.is_error, end)


async def failing():
    messages = []
    try:
        async for message in query(prompt="hello", options=options(env={"ANTHROPIC_BASE_URL": FAILING_URL})):
            messages.append(message)
        check("a failing run raises", False, messages)
    except Exception as error:
        check("a failing run raises", "401" in str(error) or "key" in str(error), error)
    ends = of(ResultMessage, messages)
    check("its result says so", len(ends) == 1 and ends[0].is_error, messages)


async def main():
    session = await asyncio.wait_for(one_turn(), PATIENCE)
    await asyncio.wait_for(resumed(session), PATIENCE)
    for scene in [conversation, served, hooked, asked, unasked, interrupted, failing]:
        await asyncio.wait_for(scene(), PATIENCE)


asyncio.run(main())
sys.exit(bool(failed))
