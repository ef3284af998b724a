"""harbor's agent `CursorCli`: it makes its own command line, merges stderr into the stream, and its converter makes a
trajectory of what was printed. Only the container's `exec` is replaced, by a shell here. One mode: run.
"""

import asyncio
import json
import os
import pathlib
import subprocess

from acceptance import PROMPT, SCRATCH, WORKSPACE, Report
from harbor.agents.installed.cursor_cli import CursorCli
from harbor.models.agent.context import AgentContext

logs = pathlib.Path(SCRATCH, "logs")


async def execute(_environment, command, env=None, **_):
    """A command of the agent's, here rather than in a container."""
    script = command.replace("/logs/agent", str(logs))
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    shell = await asyncio.create_subprocess_exec("bash", "-c", script, cwd=WORKSPACE, env={**os.environ, **(env or {})}, **quiet)
    await shell.wait()


with Report() as report:
    logs.mkdir()
    agent = CursorCli(logs_dir=logs, model_name="cursor/auto")
    agent.exec_as_agent = execute
    context = AgentContext()
    asyncio.run(agent.run(PROMPT, object(), context))
    agent.populate_context_post_run(context)
    trajectory = json.loads((logs / "trajectory.json").read_text())
    steps = [step for step in trajectory["steps"] if step["source"] == "agent"]
    report.turn(
        text="\n".join(step.get("message") or "" for step in steps),
        text_is="display",
        session_id=trajectory["session_id"],
        tool_calls=sum(len(step.get("tool_calls") or []) for step in steps),
        input_tokens=context.n_input_tokens,
        output_tokens=context.n_output_tokens,
    )
