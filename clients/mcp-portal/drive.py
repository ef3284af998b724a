"""mcp-portal, an MCP server that has files read in bulk: the prompt on stdin, a permission file that denies everything,
every line JSON, no tool call, an answer that is one JSON object with citations that it verifies. One mode: run.
"""

import json
import os
import pathlib
import subprocess
import sys

from acceptance import PROMPT, SCRATCH, WORKSPACE, Report

os.environ["MCP_PORTAL_HOME"] = os.path.join(SCRATCH, "portal")
from mcp_portal.delegate import portal_status  # noqa: E402, it reads the variable when it is imported

with Report() as report:
    status = portal_status()
    report.must(status["authenticated"] and status["cli_version"], f"`status`: {status}")
    report.must(status["model_policy"]["available_count"] > 0, f"`--list-models`: {status}")
    request = pathlib.Path(SCRATCH, "request.json")
    asked = {"root": WORKSPACE, "paths": ["README.md"], "question": PROMPT, "model": "composer-2.5"}
    request.write_text(json.dumps(asked))
    delegate = [sys.executable, "-m", "mcp_portal.delegate", "--request", str(request)]
    ran = json.loads(subprocess.run(delegate, stdout=subprocess.PIPE, check=False).stdout)
    report.must(ran["status"] == "PASS", str(ran.get("error")))
    report.turn(json=ran["answer"], tool_calls=ran["metrics"]["tool_calls"])
