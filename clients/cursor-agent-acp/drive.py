"""@blowmage/cursor-agent-acp, in Node: an adapter that editors start, which starts `cursor-agent` for each prompt. This is
such an editor, as small as can be: it speaks the adapter's protocol, of which the program knows nothing. One mode: run.
"""

import json
import os
import subprocess

from acceptance import AGAIN, PROMPT, SCRATCH, WORKSPACE, Report

ADAPTER = "node_modules/@blowmage/cursor-agent-acp/dist/bin/cursor-agent-acp.js"


class Editor:
    """Sends requests, one at a time, and collects what is said in between."""

    def __init__(self, adapter):
        self.adapter, self.number, self.updates = adapter, 0, []

    def ask(self, method, params):
        self.number += 1
        request = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.adapter.stdin.write(json.dumps(request) + "\n")
        self.adapter.stdin.flush()
        for line in self.adapter.stdout:
            message = json.loads(line)
            if message.get("id") == self.number and "method" not in message:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            if message.get("method") == "session/update":
                self.updates.append(message["params"]["update"])
        raise RuntimeError(f"{method}: the adapter ended")


def turn(report, editor, session, prompt):
    editor.updates.clear()
    ended = editor.ask("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": prompt}]})
    report.must(ended["stopReason"] == "end_turn", str(ended))
    said = [update["content"] for update in editor.updates if update["sessionUpdate"] == "agent_message_chunk"]
    report.turn(text="".join(part.get("text", "") for part in said))


with Report() as report:
    adapter = ["node", os.path.join(os.environ["ACCEPTANCE_CLIENT"], ADAPTER), "--log-level", "error"]
    adapter += ["--session-dir", os.path.join(SCRATCH, "sessions"), "--timeout", "100000"]
    with subprocess.Popen(adapter, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            editor = Editor(process)
            editor.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
            session = editor.ask("session/new", {"cwd": WORKSPACE, "mcpServers": []})["sessionId"]
            turn(report, editor, session, PROMPT)
            turn(report, editor, session, AGAIN)
        finally:
            process.stdin.close()
            process.terminate()
