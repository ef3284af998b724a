"""cursor-cli, the library: `create-chat`, then flags after the prompt and in their `=` forms. Modes: json, stream, text."""

import json
from io import StringIO

from acceptance import AGAIN, MODE, PROMPT, WORKSPACE, Report
from cursor_cli import cursor_cli
from cursor_cli.formatter import StreamJsonFormatter


def turn(report, prompt, chat=None):
    """Gives the id of the chat, or the given one where the format has none."""
    if MODE == "json":
        answer = cursor_cli(prompt, workspace=WORKSPACE, chat_id=chat)
        report.turn(text=answer["result"], session_id=answer["session_id"])
        return answer["session_id"]
    if MODE == "text":
        report.turn(text=cursor_cli(prompt, workspace=WORKSPACE, chat_id=chat, json=False), text_is="stdout")
        return chat
    # The loop of its documentation: each line is looked at, and shown by its formatter.
    shown, events = StringIO(), []
    formatter = StreamJsonFormatter(output=shown, use_colors=False)
    for line in cursor_cli(prompt, workspace=WORKSPACE, chat_id=chat, stream=True):
        events.append(json.loads(line))
        formatter.process_line(line + "\n")
    formatter.finalize()
    session = events[-1]["session_id"]
    display = shown.getvalue().replace(prompt, "", 1)
    report.turn(text=display, text_is="display", session_id=session, tool_calls=formatter.state.tool_count)
    return session


with Report() as report:
    chat = turn(report, PROMPT)
    if chat:
        turn(report, AGAIN, chat)
