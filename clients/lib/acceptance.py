"""What a driver hands over: one entry for each turn, with what its client understood of it.

A driver is `drive.py` of a client's folder. It uses the client as its makers meant it and says here what came back; it
never looks at what the program printed. `cargo xtask clients` starts it and compares.
"""

import json
import os
import sys
import traceback

#: The scratch directory of this run.
SCRATCH = os.environ["ACCEPTANCE_SCRATCH"]
#: The workspace, which is a repository with a `README.md`.
WORKSPACE = os.environ["ACCEPTANCE_WORKSPACE"]
#: Which of the client's ways to start the program is to be used; the client's table in `cargo xtask clients` has them.
MODE = os.environ["ACCEPTANCE_MODE"]
#: What is asked for in the first turn, and in the next ones.
PROMPT = "Read README.md and say what it is about"
AGAIN = "Say it again"


class Report:
    """Collects the turns; an exception becomes the report's error."""

    def __init__(self):
        self._report = {"turns": []}

    def turn(self, **seen):
        """What the client understood of one run. Whatever is named here must be what the program printed.

        text: str, the whole answer (`text_is="whole"`, the default), its last part after the last call
            (`text_is="last"`), a display in which each part stands once (`text_is="display"`), or everything on stdout,
            which must be text (`text_is="stdout"`).
        json: the answer, parsed.
        session_id: str. tool_calls: int, those that were completed. input_tokens, output_tokens: int.
        """
        self._report["turns"].append(seen)

    def must(self, holds, what):
        """Something else that the client needs; the first that does not hold is the error."""
        if not holds:
            raise AssertionError(what)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is not None:
            traceback.print_exception(kind, error, trace, file=sys.stderr)
            self._report["error"] = f"{kind.__name__}: {error}"
        with open(os.path.join(SCRATCH, "report.json"), "w", encoding="utf-8") as file:
            json.dump(self._report, file)
        return isinstance(error, Exception)
