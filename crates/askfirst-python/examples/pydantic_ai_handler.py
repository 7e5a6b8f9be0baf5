"""Tools with `requires_approval=True`, answered during the run. All calls of a response share one dialog."""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from askfirst import ApprovalDecision, ApprovalHandler


class Dialog:
    """Shows the calls of one response together, and asks for one answer to each."""

    takes_many = True

    def __call__(self, requests):
        print(f"the agent wants to make {len(requests)} calls:")
        return [self.one(request) for request in requests]

    def one(self, request):
        answer = input(f"  {request.description}? [y/n, or another address] ")
        if answer in ("y", "n"):
            return ApprovalDecision(approved=answer == "y")
        return ApprovalDecision(approved=True, edited_args={**request.args, "to": answer})


def model(messages, info):
    returns = [part for message in messages for part in message.parts if part.part_kind == "tool-return"]
    if not returns:
        return ModelResponse(parts=[ToolCallPart("send", {"to": to, "text": "hi"}) for to in ("ada", "bob")])
    return ModelResponse(parts=[TextPart("\n".join(f"{part.content} ({part.outcome})" for part in returns))])


agent = Agent(FunctionModel(model), capabilities=[ApprovalHandler(approval_callback=Dialog())])


@agent.tool_plain(requires_approval=True)
def send(to: str, text: str) -> str:
    """Sends a message (not really)."""
    return f"sent `{text}` to {to}"


if __name__ == "__main__":
    print(agent.run_sync("greet everybody").output)
