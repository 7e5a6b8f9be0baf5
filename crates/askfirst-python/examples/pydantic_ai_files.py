"""A PydanticAI agent with askfirst's file tools. Reading is allowed; writing shows a diff and asks."""

import tempfile
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from askfirst import ApprovalDecision
from askfirst.pydantic_ai import FileToolset

CONFIG = """
version: 1
sandbox:
  paths:
    notes: { root: ., mode: rw, approval: { read: none, write: required } }
"""


def ask(request):
    print(request.presentation.content if request.presentation else request.description)
    return ApprovalDecision(approved=input("write it? [y/n] ") == "y")


def model(messages, info):
    returns = [part for message in messages for part in message.parts if part.part_kind == "tool-return"]
    if not returns:
        return ModelResponse(parts=[ToolCallPart("read_file", {"path": "list.txt"})])
    if len(returns) == 1:
        return ModelResponse(parts=[ToolCallPart("write_file", {"path": "list.txt", "content": "milk\nbread\n"})])
    return ModelResponse(parts=[TextPart(returns[-1].outcome)])


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    (folder / "list.txt").write_text("milk\n")
    (folder / "askfirst.yaml").write_text(CONFIG)
    agent = Agent(FunctionModel(model), toolsets=[FileToolset(folder / "askfirst.yaml", approval_callback=ask)])
    print(agent.run_sync("add bread to my list").output)
    print((folder / "list.txt").read_text(), end="")
