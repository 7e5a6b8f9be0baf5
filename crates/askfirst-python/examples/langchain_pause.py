"""A LangChain run that pauses for its answer, and continues when there is one."""

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from askfirst import ApprovalMiddleware


@tool
def delete_table(name: str) -> str:
    """Deletes a table (not really)."""
    return f"deleted {name}"


class Model(GenericFakeChatModel):
    def bind_tools(self, tools, **kwargs):
        return self


if __name__ == "__main__":
    call = {"name": "delete_table", "args": {"name": "users"}, "id": "1"}
    model = Model(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("that is all")]))
    agent = create_agent(
        model, [delete_table], middleware=[ApprovalMiddleware(pause=True)], checkpointer=InMemorySaver()
    )
    config = {"configurable": {"thread_id": "1"}}
    paused = agent.invoke({"messages": [("user", "clean up")]}, config)
    question = paused["__interrupt__"][0].value
    answer = input(f"{question['description']}? [y, n, or another table] ")
    if answer == "y":
        decision = {"type": "approve"}
    elif answer == "n":
        decision = {"type": "reject", "message": "keep it"}
    else:
        decision = {"type": "edit", "edited_action": {"name": "delete_table", "args": {"name": answer}}}
    for message in agent.invoke(Command(resume=decision), config)["messages"][2:]:
        print(f"{message.type}: {message.content}")
