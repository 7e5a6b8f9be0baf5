"""Runs every example with typed answers, and the Python code of the guide pages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve()
EXAMPLES = HERE.parents[1] / "examples"
GUIDE = HERE.parents[3] / "docs" / "guide"
PAGES = ["pydantic-ai.md", "langchain.md", "moving-from-blocking-approval.md"]

RUNS = [
    ("pydantic_ai_toolset.py", "y\nn\n", ["deleted a.txt", "keep it", "get_time: noon"]),
    ("pydantic_ai_handler.py", "n\neve\ny\n", ["(denied)", "sent `hi` to eve (success)"]),
    ("pydantic_ai_files.py", "y\n", ["+bread", "success", "milk\nbread\n"]),
    ("langchain_agent.py", "y\nn\ny\n", ["tool: noon", "sent `hi` to ada", "not now", "sent `hi` to eve"]),
    ("langchain_pause.py", "old_users\n", ["tool: deleted old_users", "ai: that is all"]),
]


@pytest.mark.parametrize(("name", "typed", "shown"), RUNS, ids=[name for name, _, _ in RUNS])
def test_example_runs(name: str, typed: str, shown: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)], input=typed, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    for text in shown:
        assert text in done.stdout, done.stdout


def test_every_example_is_tested() -> None:
    assert {name for name, _, _ in RUNS} == {path.name for path in EXAMPLES.glob("*.py")}


@pytest.mark.parametrize("page", PAGES)
def test_code_of_guide_page_runs(page: str, tmp_path: Path) -> None:
    text = (GUIDE / page).read_text()
    for name, content in re.findall(r"^```\w+ (\S+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(content)
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert blocks
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks))
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=100, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
