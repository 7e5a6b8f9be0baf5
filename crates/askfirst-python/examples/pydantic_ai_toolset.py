"""A PydanticAI agent whose tools ask first. Answer with y, n, or s for the session."""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from askfirst import ApprovalDecision, ApprovalRequest, ApprovalToolset


def get_time() -> str:
    """Returns the time."""
    return "noon"


def delete_file(path: str) -> str:
    """Deletes a file (not really)."""
    return f"deleted {path}"


def ask(request: ApprovalRequest) -> ApprovalDecision:
    answer = input(f"{request.description}? [y/n/s] ")
    if answer == "s":
        return ApprovalDecision(approved=True, remember="session")
    return ApprovalDecision(approved=answer == "y", note=None if answer == "y" else "the user wants to keep it")


def model(messages, info):
    """A model that follows a script: gets the time, deletes two files, then reports the results."""
    returns = [part for message in messages for part in message.parts if part.part_kind == "tool-return"]
    if not returns:
        return ModelResponse(parts=[ToolCallPart("get_time", {})])
    if len(returns) == 1:
        return ModelResponse(parts=[ToolCallPart("delete_file", {"path": path}) for path in ("a.txt", "b.txt")])
    return ModelResponse(parts=[TextPart("\n".join(f"{part.tool_name}: {part.content}" for part in returns))])


tools = ApprovalToolset(
    FunctionToolset([get_time, delete_file]),
    approval_callback=ask,  # without it, askfirst shows its own prompt
    tool_configs={"get_time": {"approval": "none"}},
)
agent = Agent(FunctionModel(model), toolsets=[tools])

if __name__ == "__main__":
    print(agent.run_sync("tidy up").output)
