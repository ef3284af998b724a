"""ai-cli-runner: the prompt on stdin, `agent models`, `--resume ID` and `--continue`. It takes the text of the last
`assistant` event for the answer, and gives no format where it wants text: it is written to contract 2. Modes: json, text.
"""

import asyncio
import pathlib

from acceptance import AGAIN, MODE, PROMPT, WORKSPACE, Report
from ai_cli_runner import call_ai_cli
from ai_cli_runner.ai_models import AIModelCache


async def turn(report, prompt, **session):
    wanted = "json" if MODE == "json" else None
    answer = await call_ai_cli(
        prompt, cwd=pathlib.Path(WORKSPACE), ai_provider="cursor", ai_model="auto", output_format=wanted, **session
    )
    report.must(answer.success, answer.text)
    if MODE == "text":
        report.turn(text=answer.text, text_is="stdout")
        return None
    used = answer.usage
    report.turn(
        text=answer.text,
        text_is="last",
        session_id=answer.session_id,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
    )
    return answer.session_id


async def main(report):
    models = await AIModelCache().list_models("cursor")
    report.must(models and all(model["name"] for model in models), f"`models`: {models}")
    session = await turn(report, PROMPT)
    if session:
        await turn(report, AGAIN, session_id=session)
    await turn(report, AGAIN, continue_session=True)


with Report() as report:
    asyncio.run(main(report))
