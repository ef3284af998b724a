"""marshal-agents, which drives a fleet of agents: a clean environment, `status --format json`, `about --format json`,
`models`, deltas put together again, usage, `--resume`. Modes: read-only (`--mode plan`), safe-edit (`--force`, with a
permission file that it puts into the workspace for the time of the run).
"""

import pathlib

from acceptance import AGAIN, MODE, PROMPT, WORKSPACE, Report
from marshal_engine.backends.cursor import CursorBackend
from marshal_engine.core.types import ModelSource, PermissionMode, RunOpts, RunStatus, TaskSpec


def turn(report, backend, prompt, session=None):
    how = RunOpts(cwd=pathlib.Path(WORKSPACE), permission=PermissionMode(MODE), session_id=session, timeout_s=100)
    ran = backend.run(TaskSpec(id="acceptance", goal=prompt), how)
    report.must(ran.status is RunStatus.EXITED_CLEAN, f"{ran.status}: {ran.error}")
    report.turn(
        text=ran.text,
        session_id=ran.session_id,
        input_tokens=ran.usage.input_tokens,
        output_tokens=ran.usage.output_tokens,
    )
    return ran.session_id


with Report() as report:
    backend = CursorBackend()
    report.must(backend.account_info(), "`status` and `about` say nothing it can read")
    report.must(backend.available_models().source is ModelSource.PROBED, "`models` lists nothing it can read")
    session = turn(report, backend, PROMPT)
    turn(report, backend, AGAIN, session)
