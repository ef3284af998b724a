"""Prints the answer of a run: ibeam -p "…" | PYTHONPATH=.. python3 reader.py"""
import json
import sys

from ibeam_events import StreamEvent

for line in sys.stdin:
    event: StreamEvent = json.loads(line)
    if event["type"] == "assistant":
        print(event["message"]["content"][0]["text"], end="")
    elif event["type"] == "tool_call" and event["subtype"] == "started":
        print(next(iter(event["tool_call"])), file=sys.stderr)
    elif event["type"] == "error":
        sys.exit(event["exit_code"])
