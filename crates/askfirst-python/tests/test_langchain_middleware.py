"""``ApprovalMiddleware`` in LangChain agents with a scripted model, without a checkpointer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from frameworks import Board, Person, chat, edit, no, yes
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from askfirst import ApprovalController, ApprovalDenied, ConfigError, requires_approval
from askfirst.langchain import ApprovalMiddleware

ran: list[Any] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


@tool
def send(to: str, n: int = 1) -> str:
    """Sends."""
    ran.append((to, n))
    return f"sent to {to}"


@tool
def look(at: str) -> str:
    """Looks."""
    ran.append(at)
    return f"saw {at}"


def messages(result: dict[str, Any]) -> list[ToolMessage]:
    assert result["messages"][-1].content == "done"
    return [message for message in result["messages"] if isinstance(message, ToolMessage)]


def run(way: str, middleware: ApprovalMiddleware, *steps: Any, config: Any = None) -> list[ToolMessage]:
    agent = create_agent(chat(*steps), [send, look], middleware=[middleware])
    given: Any = {"messages": [("user", "go")]}
    if way == "sync":
        return messages(agent.invoke(given, config))
    return messages(asyncio.run(agent.ainvoke(given, config)))


both = pytest.mark.parametrize("way", ["sync", "async"])


@both
def test_approved_call_runs(way: str) -> None:
    person = Person(yes())
    result = run(way, ApprovalMiddleware(approval_callback=person), [("send", {"to": "ada"})])
    assert [message.content for message in result] == ["sent to ada"] and ran == [("ada", 1)]
    assert person.asked[0].args == {"to": "ada"}


@both
def test_rejection_is_message_to_model_and_run_continues(way: str) -> None:
    person = Person(no("not today"), yes())
    steps = [("send", {"to": "ada"})], [("look", {"at": "sky"})]
    result = run(way, ApprovalMiddleware(approval_callback=person), *steps)
    assert [message.status for message in result] == ["error", "success"]
    assert "not today" in result[0].content and result[0].tool_call_id == "c0-0" and ran == ["sky"]


@both
def test_edited_call_runs_with_edited_args(way: str) -> None:
    person = Person(edit(to="eve", n=2), yes())
    result = run(way, ApprovalMiddleware(approval_callback=person), [("send", {"to": "ada"})])
    assert result[0].content == "sent to eve" and ran == [("eve", 2)]


@both
def test_remembered_answer_is_not_asked_again(way: str) -> None:
    person = Person(yes(remember="session"))
    call = [("send", {"to": "ada"})]
    run(way, ApprovalMiddleware(approval_callback=person), call, call)
    assert len(person.asked) == 1 and len(ran) == 2


@both
def test_parallel_calls_share_dialog_and_none_is_dropped(way: str) -> None:
    board = Board(lambda request: no("not bob") if request.args["to"] == "bob" else yes())
    calls = [("send", {"to": name}) for name in ("ada", "bob", "eve")]
    result = run(way, ApprovalMiddleware(approval_callback=board), calls)
    assert [len(group) for group in board.groups] == [3]
    assert [message.status for message in result] == ["success", "error", "success"]
    assert sorted(ran) == [("ada", 1), ("eve", 1)]


@both
def test_pre_approved_call_does_not_wait_for_others(way: str) -> None:
    person = Person(each=lambda request: yes() if "sky" in ran else no("it waited"))
    middleware = ApprovalMiddleware(approval_callback=person, tool_configs={"look": {"approval": "none"}})
    steps = [("look", {"at": "sky"})], [("send", {"to": "ada"}), ("look", {"at": "sea"})]
    result = run(way, middleware, *steps)
    assert [message.status for message in result] == ["success"] * 3


@both
def test_equal_parallel_calls_share_question(way: str) -> None:
    person = Person(yes())
    run(way, ApprovalMiddleware(approval_callback=person), [("send", {"to": "ada"}), ("send", {"to": "ada"})])
    assert len(person.asked) == 1 and len(ran) == 2


@both
def test_async_callback_is_awaited(way: str) -> None:
    async def ask(request: Any) -> Any:
        await asyncio.sleep(0)
        return yes()

    assert run(way, ApprovalMiddleware(approval_callback=ask), [("send", {"to": "ada"})])[0].status == "success"


@both
def test_config_and_modes_decide_without_question(way: str) -> None:
    person = Person()
    configs = {"look": {"approval": "none"}, "send": {"approval": "deny"}}
    steps = [("look", {"at": "sky"}), ("send", {"to": "ada"})]
    result = run(way, ApprovalMiddleware(approval_callback=person, tool_configs=configs), steps)
    assert [message.status for message in result] == ["success", "error"]
    strict = ApprovalMiddleware(ApprovalController(mode="strict", approval_callback=person))
    assert run(way, strict, [("send", {"to": "ada"})])[0].status == "error"
    assert person.asked == [] and ran == ["sky"]


@both
def test_no_under_on_denial_stop_raises(way: str) -> None:
    middleware = ApprovalMiddleware(approval_callback=Person(no("enough")), on_denial="stop")
    with pytest.raises(ApprovalDenied, match="enough"):
        run(way, middleware, [("send", {"to": "ada"})])
    assert ran == []


@both
@pytest.mark.parametrize("answer", [True, "yes", None, {"approved": 1}], ids=repr)
def test_value_that_is_not_decision_approves_nothing(way: str, answer: Any) -> None:
    result = run(way, ApprovalMiddleware(approval_callback=Person(answer)), [("send", {"to": "ada"})])
    assert result[0].status == "error" and ran == []


@both
def test_exception_of_tool_is_unchanged(way: str) -> None:
    @tool
    def fail() -> str:
        """Fails."""
        raise ZeroDivisionError("broken pipe")

    agent = create_agent(chat([("fail", {})]), [fail], middleware=[ApprovalMiddleware(approval_callback=Person(yes()))])
    with pytest.raises(ZeroDivisionError, match="broken pipe"):
        if way == "sync":
            agent.invoke({"messages": [("user", "go")]})
        else:
            asyncio.run(agent.ainvoke({"messages": [("user", "go")]}))


def test_view_of_function_behind_tool_counts() -> None:
    @tool
    @requires_approval
    def pay(amount: int) -> str:
        """Pays."""
        return f"paid {amount}"

    person = Person(yes())
    middleware = ApprovalMiddleware(approval_callback=person, default_approval="none")
    model = chat([("pay", {"amount": 5})], [("look", {"at": "sky"})])
    agent = create_agent(model, [pay, look], middleware=[middleware])
    messages(agent.invoke({"messages": [("user", "go")]}))
    assert person.names == ["pay"]


def test_check_of_tool_sees_langchain_config() -> None:
    from langchain_core.tools import StructuredTool

    seen: list[Any] = []

    class Checked(StructuredTool):
        def check_approval(self, ctx: Any) -> Any:
            seen.append(ctx)
            raise PermissionError("never")

    wipe = Checked.from_function(lambda disk: ran.append(disk), name="wipe", description="Wipes.")
    middleware = ApprovalMiddleware(ApprovalController(mode="approve_all"))
    agent = create_agent(chat([("wipe", {"disk": "sda"})]), [wipe], middleware=[middleware])
    result = messages(agent.invoke({"messages": [("user", "go")]}, {"configurable": {"thread_id": "t1"}}))
    assert result[0].status == "error" and "never" in result[0].content and ran == []
    assert seen[0].metadata["config"]["configurable"]["thread_id"] == "t1" and seen[0].args == {"disk": "sda"}


def test_unknown_tool_does_not_run() -> None:
    result = run("sync", ApprovalMiddleware(approval_callback=Person(yes())), [("nothing", {})])
    assert result[0].status == "error"


@both
def test_tool_node_in_graph_asks(way: str) -> None:
    board = Board(lambda request: no("no bob") if request.args["to"] == "bob" else yes())
    middleware = ApprovalMiddleware(approval_callback=board)
    node = ToolNode([send], wrap_tool_call=middleware.wrap_tool_call, awrap_tool_call=middleware.awrap_tool_call)
    graph = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    calls = [{"name": "send", "args": {"to": name}, "id": name} for name in ("ada", "bob")]
    given: Any = {"messages": [AIMessage("", tool_calls=calls)]}
    app = graph.compile()
    result = app.invoke(given) if way == "sync" else asyncio.run(app.ainvoke(given))
    assert [message.status for message in result["messages"][1:]] == ["success", "error"]
    assert [len(group) for group in board.groups] == [2] and ran == [("ada", 1)]


def test_agent_inside_tool_asks_through_same_controller() -> None:
    person = Person(each=lambda request: yes())
    controller = ApprovalController(approval_callback=person)

    @tool
    def delegate(task: str) -> str:
        """Delegates."""
        inner = create_agent(chat([("send", {"to": task})]), [send], middleware=[ApprovalMiddleware(controller)])
        return str(inner.invoke({"messages": [("user", "go")]})["messages"][-1].content)

    agent = create_agent(chat([("delegate", {"task": "ada"})]), [delegate], middleware=[ApprovalMiddleware(controller)])
    messages(agent.invoke({"messages": [("user", "go")]}))
    assert person.names == ["delegate", "send"] and ran == [("ada", 1)]


def test_canceled_run_withdraws_its_question() -> None:
    async def main() -> None:
        asked, withdrawn = asyncio.Event(), asyncio.Event()

        async def ask(request: Any) -> Any:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                withdrawn.set()

        middleware = ApprovalMiddleware(approval_callback=ask)
        agent = create_agent(chat([("send", {"to": "ada"})]), [send], middleware=[middleware])
        task = asyncio.create_task(agent.ainvoke({"messages": [("user", "go")]}))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(withdrawn.wait(), 30)

    asyncio.run(main())
    assert ran == []


def test_contradicting_arguments_raise() -> None:
    with pytest.raises(ConfigError):
        ApprovalMiddleware(ApprovalController(mode="strict"), approval_callback=Person())
    with pytest.raises(ConfigError):
        ApprovalMiddleware(approval_callback=Person(), pause=True)
    with pytest.warns(DeprecationWarning):
        ApprovalMiddleware(approval_callback=Person(), pre_approved=["look"])
