"""Starts the program, passes on its stdin and stdout, and records both in a new directory.

Usage: recorder.py RECORDS PROGRAM [ARGUMENT…]. Records are `in.jsonl` and `out.jsonl`."""

import os
import signal
import subprocess
import sys
import tempfile
import threading

RECORDS, PROGRAM, *ARGUMENTS = sys.argv[1:]
DIRECTORY = tempfile.mkdtemp(dir=RECORDS)


def copy(source, target, name):
    with open(os.path.join(DIRECTORY, name), "wb", buffering=0) as record:
        while chunk := os.read(source, 65536):
            record.write(chunk)
            try:
                target.write(chunk)
                target.flush()
            except BrokenPipeError:
                return
    target.close()


child = subprocess.Popen([PROGRAM, *ARGUMENTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
signal.signal(signal.SIGTERM, lambda *_: child.terminate())
threading.Thread(target=copy, args=(0, child.stdin, "in.jsonl"), daemon=True).start()
copy(child.stdout.fileno(), sys.stdout.buffer, "out.jsonl")
os._exit(child.wait())
