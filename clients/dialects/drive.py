"""Drives a program that starts `claude` or `codex` from PATH. Usage: drive.py NAME WORKSPACE; the model's script is in dialect_programs.rs.

Each function yields the texts that the program has parsed, and the ids of their sessions where it exposes them.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAME, WORKSPACE = sys.argv[1:]
PROMPT, AGAIN = "make a file", "and now?"
EXPECTED = ["The file is made.", "Once more."]


def agent_belt():
    from belt.agent.claude_code import ClaudeCodeAgentAdapter
    from belt.runner.entities import AgentConfig
    from belt.scenario import GroupConfig

    adapter = ClaudeCodeAgentAdapter()
    adapter.setup(AgentConfig(group_config=GroupConfig(agent="claude"), scenario_name="s", workspace_dir=WORKSPACE))
    for prompt in (PROMPT, AGAIN):
        output = adapter.fetch_results(adapter.execute(prompt, ["--permission-mode", "acceptEdits"]))
        text = getattr(output, "reply", None) or getattr(output, "reply_text", None) or getattr(output, "text", None)
        # The reply has the texts of all messages.
        yield next((expected for expected in EXPECTED if text and text.strip().endswith(expected)), text), adapter._session_id


def claude_subprocess():
    from claude_cli import runner

    # It starts `claude` through the command line of a gateway.
    gateway = Path(shutil.which("claude")).parent / "omniroute"
    gateway.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec claude "$@"\n')
    gateway.chmod(0o755)
    settings = {"timeout": 60, "tools": "Read,Write", "cwd": WORKSPACE, "permission_mode": "acceptEdits"}
    for prompt in (PROMPT, AGAIN):
        yield runner.run_claude(prompt, **settings).text, None


def claude_subprocess_sdk():
    from claude_sdk import Claude

    answer = Claude(safety="careful", confirm_unsafe=True, cwd=WORKSPACE, max_turns=5).ask(PROMPT)
    yield answer.result, answer.session_id
    stream = Claude(safety="careful", cwd=WORKSPACE, output_format="stream-json", max_turns=5).stream_iter(AGAIN)
    yield [event for event in stream if event.get("type") == "result"][-1]["result"], None


def convene():
    import uuid

    from convene.runtime import Call, run_sync

    # It starts `claude` without the variables of the key.
    claude = Path(shutil.which("claude"))
    settings = " ".join(f"{name}={os.environ[name]}" for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"))
    claude.write_text(claude.read_text().replace("exec ", f"export {settings}\nexec ", 1))
    os.chdir(WORKSPACE)
    session = str(uuid.uuid4())
    for call in (Call(PROMPT, session_id=session, ephemeral=False), Call(AGAIN, resume=session, ephemeral=False)):
        answer = run_sync(call)
        yield answer.text, answer.session_id


def runspec_claude():
    from runspec_claude.runner import run_claude

    settings = {"cwd": WORKSPACE, "permission_mode": "acceptEdits", "max_turns": 9, "timeout": 60}
    first = run_claude(PROMPT, **settings)
    yield first["result"], first["session_id"]
    second = run_claude(AGAIN, mode="resume", session=first["session_id"], **settings)
    yield second["result"], second["session_id"]


def codexapi():
    from codexapi import Agent

    agent = Agent(WORKSPACE, yolo=False, backend="codex")
    for prompt in (PROMPT, AGAIN):
        yield agent(prompt), agent.thread_id


def codex_sdk_unofficial():
    from codex_sdk import Codex

    options = {"working_directory": WORKSPACE, "skip_git_repo_check": True, "sandbox_mode": "workspace-write"}
    options |= {"model_reasoning_effort": "low", "approval_policy": "never", "web_search_mode": "disabled"}
    thread = Codex({"codex_path_override": shutil.which("codex")}).start_thread(options)
    for prompt in (PROMPT, AGAIN):
        yield thread.run(prompt).final_response, thread.id


def codex_local_sdk_python():
    from codex_local_sdk import CodexExecRequest, CodexLocalClient, SandboxMode

    client = CodexLocalClient(codex_bin=shutil.which("codex"))
    request = CodexExecRequest(
        prompt=PROMPT, cwd=WORKSPACE, json_output=True, sandbox=SandboxMode.WORKSPACE_WRITE, skip_git_repo_check=True
    )
    first = client.run(request)
    yield first.final_message, first.thread_id
    yield client.resume(AGAIN, session_id=first.thread_id, cwd=WORKSPACE).final_message, first.thread_id


subprocess.run(["git", "init", "-q", WORKSPACE], check=True)
answers = list(globals()[NAME.replace("-", "_")]())
texts = [(text or "").strip() for text, _ in answers]
sessions = {session for _, session in answers if session}
checks = [("the answers", texts, texts == EXPECTED[: len(texts)]), ("one session", sessions, len(sessions) <= 1)]
for check, seen, passed in checks:
    print(f"{'PASS' if passed else 'FAIL'} {NAME}: {check}" + ("" if passed else f"\n  seen: {seen!r}"), flush=True)
sys.exit(not all(passed for _, _, passed in checks))
