"""Prints the answer of a run, under either contract: ibeam -p "…" | PYTHONPATH=.. python3 reader.py"""
import json
import sys

from ibeam_events import StreamEvent

told = False  # Under contract 2 a whole text may follow its pieces.
for line in sys.stdin:
    event: StreamEvent = json.loads(line)
    if event["type"] == "assistant":
        piece = "timestamp_ms" in event and "model_call_id" not in event
        if piece or not told:
            print(event["message"]["content"][0]["text"], end="")
        told = piece
    elif event["type"] == "tool_call" and event["subtype"] == "started":
        print(next(iter(event["tool_call"])), file=sys.stderr)
    elif event["type"] == "error":
        sys.exit(event["exit_code"])
