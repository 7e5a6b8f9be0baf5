"""A LangChain agent and a single tool that ask before they act. Answer with y, n, or s for the session."""

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from askfirst import ApprovalController, ApprovalDecision, ApprovalMiddleware, ApprovalToolWrapper


@tool
def get_time() -> str:
    """Returns the time."""
    return "noon"


@tool
def send_email(to: str, subject: str) -> str:
    """Sends an email (not really)."""
    return f"sent `{subject}` to {to}"


def ask(request):
    answer = input(f"{request.description}? [y/n/s] ")
    remember = "session" if answer == "s" else "none"
    return ApprovalDecision(approved=answer in ("y", "s"), remember=remember, note=None if answer != "n" else "not now")


class Model(GenericFakeChatModel):
    """A model that follows a script."""

    def bind_tools(self, tools, **kwargs):
        return self


def script():
    calls = [{"name": "get_time", "args": {}, "id": "1"}]
    calls += [{"name": "send_email", "args": {"to": to, "subject": "hi"}, "id": to} for to in ("ada", "bob")]
    return iter([AIMessage("", tool_calls=calls), AIMessage("that is all")])


controller = ApprovalController(approval_callback=ask)  # without a callback, askfirst shows its own prompt
middleware = ApprovalMiddleware(controller, tool_configs={"get_time": {"approval": "none"}})

if __name__ == "__main__":
    agent = create_agent(Model(messages=script()), [get_time, send_email], middleware=[middleware])
    for message in agent.invoke({"messages": [("user", "greet everybody")]})["messages"][2:]:
        print(f"{message.type}: {message.content}")
    gated = ApprovalToolWrapper(send_email, controller)
    try:
        print(gated.invoke({"to": "eve", "subject": "hi"}))
    except PermissionError as error:
        print(error)
