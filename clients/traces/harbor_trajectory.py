"""Validates a trajectory with harbor, and lets harbor make one of its own.

Usage: harbor_trajectory.py ATIF STREAM DIRECTORY

Harbor's validator reads ATIF. Its agent `CursorCli` converts STREAM to `trajectory.json` in DIRECTORY.
Prints a line for each check. The exit code is that of the first failure.
"""

import shutil
import sys
from pathlib import Path

from harbor.agents.installed.cursor_cli import CursorCli
from harbor.models.agent.context import AgentContext
from harbor.utils.trajectory_validator import TrajectoryValidator


def require(condition, what):
    if not condition:
        sys.exit(f"FAIL {what}")
    print(f"PASS {what}")


trajectory, stream, directory = sys.argv[1:4]
validator = TrajectoryValidator()
require(validator.validate(Path(trajectory)), f"ATIF: the validator of harbor accepts the trajectory {validator.errors or ''}".rstrip())
logs = Path(directory)
shutil.copy(stream, logs / "cursor-cli.txt")
CursorCli(logs_dir=logs, model_name="cursor/auto").populate_context_post_run(AgentContext())
require((logs / "trajectory.json").is_file(), "ATIF: harbor makes a trajectory of the stream")
