"""A pool of threads, as people write one to run an agent on many tasks.

usage: pool.py PROGRAM JOBS WORKSPACE DIRECTORY PROMPT...

Copies the workspace for each prompt, runs the program there, and writes a line of JSON for each result.
"""

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

program, jobs, workspace, directory = sys.argv[1], int(sys.argv[2]), sys.argv[3], Path(sys.argv[4])


def run(number: int, prompt: str) -> dict:
    copy = directory / f"w{number}"
    shutil.copytree(workspace, copy)
    command = [program, "--model", "mock-model", "--force", "--workspace", str(copy)]
    command += ["--print", "--output-format", "json", prompt]
    ended = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    result = json.loads(ended.stdout) if ended.stdout else {}
    return {"number": number, "exit_code": ended.returncode, "session_id": result.get("session_id")}


with ThreadPoolExecutor(jobs) as pool:
    futures = [pool.submit(run, number, prompt) for number, prompt in enumerate(sys.argv[5:])]
    for future in as_completed(futures):
        print(json.dumps(future.result()), flush=True)
