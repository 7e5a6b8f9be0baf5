"""``ApprovalToolWrapper``: approval around one LangChain tool, sync and async."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated, Any

import pytest
from frameworks import Board, Person, chat, edit, no, yes
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.prebuilt import ToolNode
from pydantic import ValidationError

from askfirst import ApprovalController, ApprovalDenied, ApprovalRequest
from askfirst.langchain import ApprovalMiddleware, ApprovalToolWrapper

ran: list[Any] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


@tool
def send(to: str, n: int = 1) -> str:
    """Sends."""
    ran.append((to, n))
    return f"sent to {to}"


def call(way: str, wrapper: ApprovalToolWrapper, given: Any, config: Any = None) -> Any:
    if way == "invoke":
        return wrapper.invoke(given, config)
    if way == "ainvoke":
        return asyncio.run(wrapper.ainvoke(given, config))

    async def awaited() -> Any:
        return await wrapper.invoke(given, config)

    return asyncio.run(awaited())


ways = pytest.mark.parametrize("way", ["invoke", "ainvoke", "awaited invoke"])


@ways
def test_approved_call_runs(way: str) -> None:
    person = Person(yes())
    wrapper = ApprovalToolWrapper(send, ApprovalController(approval_callback=person))
    assert call(way, wrapper, {"to": "ada"}) == "sent to ada" and ran == [("ada", 1)]
    assert person.names == ["send"]


@ways
def test_denied_call_raises_permission_error(way: str) -> None:
    wrapper = ApprovalToolWrapper(send, ApprovalController(approval_callback=Person(no("not today"))))
    with pytest.raises(PermissionError, match="not today") as raised:
        call(way, wrapper, {"to": "ada"})
    assert isinstance(raised.value, ApprovalDenied) and ran == []


@ways
def test_edited_call_runs_with_edited_args(way: str) -> None:
    wrapper = ApprovalToolWrapper(send, approval_callback=Person(edit(to="eve", n=2), yes()))
    assert call(way, wrapper, {"to": "ada"}) == "sent to eve" and ran == [("eve", 2)]


@ways
def test_check_of_tool_sees_config(way: str) -> None:
    seen: list[Any] = []

    def pay(amount: int) -> str:
        """Pays."""
        return f"paid {amount}"

    def check(ctx: Any) -> Any:
        seen.append(ctx)
        request = ApprovalRequest(tool_name=ctx.tool_name, description="Pay", payload={})
        return request if ctx.args["amount"] > 5 else None

    pay.check_approval = check  # type: ignore[attr-defined]
    person = Person(yes())
    wrapper = ApprovalToolWrapper(tool(pay), ApprovalController(approval_callback=person))
    config: Any = {"configurable": {"user": "ada"}}
    assert call(way, wrapper, {"amount": 1}, config) == "paid 1" and person.asked == []
    assert call(way, wrapper, {"amount": 9}, config) == "paid 9" and len(person.asked) == 1
    assert seen[0].metadata["config"]["configurable"]["user"] == "ada"


def test_remembered_answer_is_not_asked_again() -> None:
    person = Person(yes(remember="session"))
    wrapper = ApprovalToolWrapper(send, approval_callback=person)
    assert [wrapper.invoke({"to": "ada"}), wrapper.invoke({"to": "ada"})] == ["sent to ada"] * 2
    assert len(person.asked) == 1


def test_every_way_to_run_wrapper_asks() -> None:
    person = Person(each=lambda request: no())
    wrapper = ApprovalToolWrapper(send, approval_callback=person)
    with pytest.raises(PermissionError):
        wrapper.run({"to": "a"})
    with pytest.raises(PermissionError):
        wrapper.batch([{"to": "b"}])
    with pytest.raises(PermissionError):
        list(wrapper.stream({"to": "c"}))
    with pytest.raises(PermissionError):
        asyncio.run(wrapper.arun({"to": "d"}))
    with pytest.raises(NotImplementedError):
        wrapper._run(to="e")
    assert len(person.asked) == 4 and ran == []


def test_wrapper_looks_like_tool_to_model() -> None:
    wrapper = ApprovalToolWrapper(send, approval_callback=Person())
    assert (wrapper.name, wrapper.description, wrapper.args) == (send.name, send.description, send.args)
    assert wrapper.tool is send


def test_agent_gets_message_about_denial() -> None:
    wrapper = ApprovalToolWrapper(send, approval_callback=Person(no("not today"), yes()))
    steps = [("send", {"to": "ada"})], [("send", {"to": "bob"})]
    result = create_agent(chat(*steps), [wrapper]).invoke({"messages": [("user", "go")]})
    messages = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    assert [message.status for message in messages] == ["error", "success"] and "not today" in messages[0].content
    assert ran == [("bob", 1)]


@ways
def test_call_with_invalid_args_raises_without_a_question(way: str) -> None:
    person = Person(yes())
    wrapper = ApprovalToolWrapper(send, approval_callback=person)
    for args in ({"to": "ada", "n": "many"}, {}):
        with pytest.raises(ValidationError):
            call(way, wrapper, args)
    assert person.asked == [] and ran == []


def test_agent_learns_of_invalid_args_without_a_question() -> None:
    person = Person(yes())
    wrapper = ApprovalToolWrapper(send, approval_callback=person)
    steps = [("send", {"n": 1})], [("send", {"to": "ada"})]
    result = create_agent(chat(*steps), [wrapper]).invoke({"messages": [("user", "go")]})
    messages = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    assert [message.status for message in messages] == ["error", "success"] and "Field required" in messages[0].content
    assert len(person.asked) == 1


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_parallel_calls_of_an_agent_share_one_dialog(is_async: bool) -> None:
    board = Board(lambda request: no("not bob") if request.args.get("to") == "bob" else yes())
    controller = ApprovalController(approval_callback=board)
    free = {"free": {"approval": "none"}}

    @tool
    def look(at: str) -> str:
        """Looks."""
        ran.append(at)
        return f"saw {at}"

    @tool
    def free_look(at: str) -> str:
        """Looks without asking."""
        return f"saw {at}"

    free_look.name = "free"
    tools = [ApprovalToolWrapper(each, controller, tool_configs=free) for each in (send, look, free_look)]
    calls = [("send", {"to": "ada"}), ("send", {"to": "bob"}), ("look", {"at": "sky"}), ("free", {"at": "sea"})]
    agent = create_agent(chat(calls), tools)
    given: Any = {"messages": [("user", "go")]}
    result = asyncio.run(agent.ainvoke(given)) if is_async else agent.invoke(given)
    messages = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    assert [message.status for message in messages] == ["success", "error", "success", "success"]
    assert [len(group) for group in board.groups] == [3] and len(ran) == 2


@pytest.mark.parametrize("has_middleware", [False, True], ids=["wrapper", "middleware"])
def test_concurrent_runs_without_checkpointer_ask_separately(has_middleware: bool) -> None:
    groups: list[set[str]] = []
    both_ask = threading.Barrier(2, timeout=30)

    class Board:
        takes_many = True

        def __call__(self, requests: Any) -> Any:
            groups.append({request.args["to"][0] for request in requests})
            return [yes() for _ in requests]

    class Together(AgentMiddleware):
        def after_model(self, state: Any, runtime: Any) -> None:
            both_ask.wait()

    controller = ApprovalController(approval_callback=Board())
    middleware: list[Any] = [ApprovalMiddleware(controller)] if has_middleware else []
    tools = [send if has_middleware else ApprovalToolWrapper(send, controller)]

    def go(name: str) -> None:
        model = chat([("send", {"to": f"{name}1"}), ("send", {"to": f"{name}2"})])
        agent = create_agent(model, tools, middleware=[Together(), *middleware])
        agent.invoke({"messages": [("user", "go")]})

    threads = [threading.Thread(target=go, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # On a slow machine, the calls of one message may ask apart.
    assert {"".join(group) for group in groups} == {"a", "b"} and len(ran) == 4


def test_misspelled_tool_name_warns(recwarn: Any) -> None:
    with pytest.warns(UserWarning, match="`sned`, but no toolset offers it; hint: did you mean `send`"):
        ApprovalToolWrapper(send, tool_configs={"sned": {"approval": "deny"}})
    recwarn.clear()
    for name in ("look", "send"):
        ApprovalToolWrapper(send, tool_configs={name: {"approval": "none"}, "sent": {}} if name == "send" else {name: {}})
    assert not recwarn.list


def test_agent_learns_of_edit_and_note() -> None:
    person = Person(edit(to="eve"), yes(note="ada is away"))
    wrapper = ApprovalToolWrapper(send, approval_callback=person)
    result = create_agent(chat([("send", {"to": "ada"})]), [wrapper]).invoke({"messages": [("user", "go")]})
    (message,) = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    assert str(message.content).startswith("sent to eve") and "wrote: ada is away" in str(message.content)


def test_tool_node_accepts_wrapper() -> None:
    from langchain_core.messages import AIMessage
    from langgraph.graph import END, START, MessagesState, StateGraph

    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([ApprovalToolWrapper(send, approval_callback=Person(yes()))]))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    message = AIMessage("", tool_calls=[{"name": "send", "args": {"to": "ada"}, "id": "1"}])
    assert graph.compile().invoke({"messages": [message]})["messages"][-1].content == "sent to ada"


def test_injected_arguments_are_not_shown() -> None:
    @tool
    def act(x: int, runtime: ToolRuntime, call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Acts."""
        ran.append((x, call_id, len(runtime.state["messages"])))
        return "acted"

    person = Person(edit(x=2), yes())
    wrapper = ApprovalToolWrapper(act, approval_callback=person)
    result = create_agent(chat([("act", {"x": 1})]), [wrapper]).invoke({"messages": [("user", "go")]})
    assert result["messages"][-1].content == "done"
    assert person.asked[0].args == {"x": 1} and ran == [(2, "c0-0", 2)]


def test_tool_with_plain_text_input_works() -> None:
    person = Person(yes())
    wrapper = ApprovalToolWrapper(send, approval_callback=person)
    assert wrapper.invoke("ada") == "sent to ada" and person.asked[0].args == {"to": "ada"}


def test_exception_of_tool_is_unchanged() -> None:
    @tool
    def fail() -> str:
        """Fails."""
        raise ZeroDivisionError("broken pipe")

    with pytest.raises(ZeroDivisionError, match="broken pipe"):
        ApprovalToolWrapper(fail, approval_callback=Person(yes())).invoke({})


def test_value_that_is_not_tool_raises() -> None:
    with pytest.raises(TypeError, match="must be a LangChain tool"):
        ApprovalToolWrapper(len)  # type: ignore[arg-type]
