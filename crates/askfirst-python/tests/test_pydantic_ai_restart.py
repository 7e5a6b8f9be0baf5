"""A process that is killed during a question. Its call has not run, and the next process asks again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = '''
import asyncio, os, sys
from pathlib import Path
from pydantic_ai import Agent, ModelMessagesTypeAdapter
from pydantic_ai.toolsets import FunctionToolset
from askfirst import ApprovalDecision
from askfirst.pydantic_ai import ApprovalToolset
from frameworks import scripted, tool_returns

folder, answer = Path(sys.argv[1]), sys.argv[2]
history = folder / "history.json"

def act(x: int) -> str:
    with (folder / "ran").open("a") as file:
        file.write(f"{x}\\n")
    return f"did {x}"

def ask(request):
    if answer == "die":
        print("asking", flush=True)
        sys.stdin.read()
    return ApprovalDecision(approved=True)

gated = ApprovalToolset(FunctionToolset([act]), approval_callback=ask)

async def main():
    old = ModelMessagesTypeAdapter.validate_json(history.read_bytes()) if history.exists() else None
    steps = () if old else ([("act", {"x": 7})],)
    agent = Agent(scripted(*steps), toolsets=[gated])
    async with agent.iter(None if old else "go", message_history=old) as run:
        async for node in run:
            history.write_bytes(ModelMessagesTypeAdapter.dump_json(run.all_messages()))
    print(tool_returns(run.result.all_messages()), run.result.output)

asyncio.run(main())
'''


def test_run_killed_during_question_asks_again_and_runs_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    here = str(Path(__file__).parent)
    with subprocess.Popen(
        [*command, "die"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=here
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "asking\n"
        process.kill()
    assert not (tmp_path / "ran").exists()
    again = subprocess.run([*command, "yes"], capture_output=True, text=True, cwd=here, timeout=60)
    assert again.returncode == 0, again.stderr
    assert "did 7" in again.stdout and again.stdout.rstrip().endswith("done")
    assert (tmp_path / "ran").read_text() == "7\n"
