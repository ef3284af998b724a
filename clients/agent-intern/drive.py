"""agent-intern, an MCP server whose Cursor bridge mints a chat with `create-chat`, resumes it for each question, and asks
`status`, `--version` and `models`. Modes: text, stream.
"""

import cursor_bridge as bridge
from acceptance import AGAIN, MODE, PROMPT, WORKSPACE, Report


def turn(report, prompt, continued):
    how = {"sandbox": "workspace-write", "continue_conv": continued}
    if MODE == "text":
        report.turn(text=bridge.run_cursor(prompt, WORKSPACE, **how), text_is="stdout")
        return
    events = []
    text = bridge.run_cursor_streaming(prompt, WORKSPACE, on_event=events.append, **how)
    calls = {event["call_id"] for event in events if event["type"] == "tool_call" and event["subtype"] == "completed"}
    report.turn(text=text, session_id=bridge.get_pinned(WORKSPACE), tool_calls=len(calls))


with Report() as report:
    signed_in, detail = bridge.auth_status()
    report.must(signed_in, f"`status`: {detail}")
    report.must(bridge.cursor_version(), "`--version` says nothing")
    report.must(bridge.list_models(), "`models` lists nothing it can read")
    turn(report, PROMPT, continued=False)
    turn(report, AGAIN, continued=True)
