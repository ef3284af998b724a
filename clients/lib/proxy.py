"""Stands in PATH as `agent` and `cursor-agent`: runs the program unchanged and writes down what went by.

Beside its directory is `proxy.json`: {"programs": directory with the links that `ibeam shim` made, "environment": what
only the program is given}. Each call leaves `calls/N.json` (arguments and exit), `calls/N.stdout`, `calls/N.stderr`.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

SCRATCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def copy(source, target, path):
    """Every byte when it comes, to the client and into the record. A client that has gone ends the copy, not the record."""
    with open(path, "wb", 0) as record:
        while piece := source.read1(65536):
            record.write(piece)
            try:
                target.write(piece)
                target.flush()
            except (OSError, ValueError):
                target = open(os.devnull, "wb")


def main():
    with open(os.path.join(SCRATCH, "proxy.json"), encoding="utf-8") as file:
        settings = json.load(file)
    name = os.path.basename(sys.argv[0])
    environment = dict(os.environ, **settings["environment"])
    # The program's own commands are not to find this file.
    entries = environment.get("PATH", "").split(os.pathsep)
    environment["PATH"] = os.pathsep.join(entry for entry in entries if entry != os.path.join(SCRATCH, "bin"))
    call = os.path.join(SCRATCH, "calls", f"{time.time_ns()}-{os.getpid()}")
    child = subprocess.Popen(
        [os.path.join(settings["programs"], name), *sys.argv[1:]],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: child.send_signal(number))
    copies = [
        threading.Thread(target=copy, args=(child.stdout, sys.stdout.buffer, call + ".stdout")),
        threading.Thread(target=copy, args=(child.stderr, sys.stderr.buffer, call + ".stderr")),
    ]
    for thread in copies:
        thread.start()
    code = child.wait()
    for thread in copies:
        thread.join()
    with open(call + ".new", "w", encoding="utf-8") as file:
        json.dump({"name": name, "args": sys.argv[1:], "code": code}, file)
    os.rename(call + ".new", call + ".json")
    os._exit(code if code >= 0 else 128 - code)


main()
