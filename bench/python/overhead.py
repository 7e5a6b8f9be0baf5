"""Measure the cost of approval per call: askfirst and pydantic-ai-blocking-approval 0.9.0 against the bare toolset.

    python overhead.py [--calls N] [--rounds N]

Each round times every toolset once, in turn, so that all of them run under the same conditions. The result is the best
processor time of all rounds. The other package remembers nothing itself, so its memory hit is a session cache around
the callback, by tool name and sorted JSON, as its documentation advises.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pydantic_ai_blocking_approval as relative
from pydantic_ai import RunContext
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import RunUsage

import askfirst
from askfirst.pydantic_ai import ApprovalToolset

ARGS = {"path": "notes/today.md", "text": "a line of text", "line": 12}
GOALS = {"pre-approved": 3, "memory hit": 5}


async def edit(path: str, text: str, line: int) -> str:
    return path


def remembered(answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A session cache around a callback, by tool name and sorted JSON of the arguments."""
    kept: dict[tuple[str, str], Any] = {}

    def ask(request: Any) -> Any:
        key = (request.tool_name, json.dumps(request.tool_args, sort_keys=True, default=str))
        if key not in kept:
            kept[key] = answer(request)
        return kept[key]

    return ask


def toolsets() -> dict[str, Any]:
    inner: Any = FunctionToolset([edit])
    return {
        "bare": inner,
        "relative, pre-approved": relative.ApprovalToolset(
            inner, lambda request: relative.ApprovalDecision(approved=False), {"edit": {"pre_approved": True}}
        ),
        "relative, memory hit": relative.ApprovalToolset(
            inner, remembered(lambda request: relative.ApprovalDecision(approved=True))
        ),
        "askfirst, pre-approved": ApprovalToolset(
            inner,
            approval_callback=lambda request: askfirst.ApprovalDecision(approved=False),
            tool_configs={"edit": {"approval": "none"}},
        ),
        "askfirst, memory hit": ApprovalToolset(
            inner, approval_callback=lambda request: askfirst.ApprovalDecision(approved=True, remember="session")
        ),
    }


async def measured(calls: int, rounds: int) -> dict[str, float]:
    ctx: Any = RunContext(deps=None, model=TestModel(), usage=RunUsage(), run_id="run", tool_call_id="call")
    every = toolsets()
    tool = (await every["bare"].get_tools(ctx))["edit"]
    best = dict.fromkeys(every, float("inf"))
    for toolset in every.values():
        assert await toolset.call_tool("edit", dict(ARGS), ctx, tool) == ARGS["path"]
    for _ in range(rounds):
        for name, toolset in every.items():
            start = time.process_time()
            for _ in range(calls):
                await toolset.call_tool("edit", dict(ARGS), ctx, tool)
            best[name] = min(best[name], (time.process_time() - start) / calls)
    return best


def import_time(rounds: int) -> float:
    """Seconds of processor time that `import askfirst` adds to a bare start of the interpreter, at best."""

    def start(program: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)

    start("import askfirst")
    bare = min(start("pass") for _ in range(rounds))
    return min(start("import askfirst") for _ in range(rounds)) - bare


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=250)
    options = parser.parse_args()
    best = asyncio.run(measured(options.calls, options.rounds))
    bare = best["bare"]
    print(f"bare toolset: {bare * 1e6:.1f} us per call (Python {sys.version.split()[0]})")
    met = True
    for kind, share in GOALS.items():
        theirs, ours = best[f"relative, {kind}"] - bare, best[f"askfirst, {kind}"] - bare
        good = ours * share <= theirs
        met = met and good
        print(
            f"{kind:>12}: blocking-approval +{theirs * 1e6:.1f} us, askfirst +{ours * 1e6:.1f} us, "
            f"{theirs / ours:.1f} times less (goal {share}: {'met' if good else 'missed'})"
        )
    took = import_time(15)
    met = met and took < 0.030
    print(f"import askfirst: {took * 1e3:.1f} ms (goal 30: {'met' if took < 0.030 else 'missed'})")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
