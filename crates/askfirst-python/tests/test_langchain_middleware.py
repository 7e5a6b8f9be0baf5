"""``ApprovalMiddleware`` in real LangChain agents driven by a scripted model, without a checkpointer."""

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
def test_an_approved_call_runs(way: str) -> None:
    person = Person(yes())
    result = run(way, ApprovalMiddleware(approval_callback=person), [("send", {"to": "ada"})])
    assert [message.content for message in result] == ["sent to ada"] and ran == [("ada", 1)]
    assert person.asked[0].args == {"to": "ada"}


@both
def test_rejection_is_a_message_and_the_run_continues(way: str) -> None:
    person = Person(no("not today"), yes())
    steps = [("send", {"to": "ada"})], [("look", {"at": "sky"})]
    result = run(way, ApprovalMiddleware(approval_callback=person), *steps)
    assert [message.status for message in result] == ["error", "success"]
    assert "not today" in result[0].content and result[0].tool_call_id == "c0-0" and ran == ["sky"]


@both
def test_an_edit_runs_with_what_the_person_put_in(way: str) -> None:
    person = Person(edit(to="eve", n=2), yes())
    result = run(way, ApprovalMiddleware(approval_callback=person), [("send", {"to": "ada"})])
    assert result[0].content == "sent to eve" and ran == [("eve", 2)]


@both
def test_a_remembered_answer_is_not_asked_again(way: str) -> None:
    person = Person(yes(remember="session"))
    call = [("send", {"to": "ada"})]
    run(way, ApprovalMiddleware(approval_callback=person), call, call)
    assert len(person.asked) == 1 and len(ran) == 2


@both
def test_parallel_calls_come_in_one_dialog_and_none_is_dropped(way: str) -> None:
    board = Board(lambda request: no("not bob") if request.args["to"] == "bob" else yes())
    calls = [("send", {"to": name}) for name in ("ada", "bob", "eve")]
    result = run(way, ApprovalMiddleware(approval_callback=board), calls)
    assert [len(group) for group in board.groups] == [3]
    assert [message.status for message in result] == ["success", "error", "success"]
    assert sorted(ran) == [("ada", 1), ("eve", 1)]


@both
def test_a_pre_approved_sibling_does_not_wait_for_an_answer(way: str) -> None:
    person = Person(each=lambda request: yes() if "sky" in ran else no("it waited"))
    middleware = ApprovalMiddleware(approval_callback=person, tool_configs={"look": {"approval": "none"}})
    steps = [("look", {"at": "sky"})], [("send", {"to": "ada"}), ("look", {"at": "sea"})]
    result = run(way, middleware, *steps)
    assert [message.status for message in result] == ["success"] * 3


@both
def test_two_equal_parallel_calls_share_one_question(way: str) -> None:
    person = Person(yes())
    run(way, ApprovalMiddleware(approval_callback=person), [("send", {"to": "ada"}), ("send", {"to": "ada"})])
    assert len(person.asked) == 1 and len(ran) == 2


@both
def test_an_async_callback_is_awaited(way: str) -> None:
    async def ask(request: Any) -> Any:
        await asyncio.sleep(0)
        return yes()

    assert run(way, ApprovalMiddleware(approval_callback=ask), [("send", {"to": "ada"})])[0].status == "success"


@both
def test_config_and_modes_decide_without_a_question(way: str) -> None:
    person = Person()
    configs = {"look": {"approval": "none"}, "send": {"approval": "deny"}}
    steps = [("look", {"at": "sky"}), ("send", {"to": "ada"})]
    result = run(way, ApprovalMiddleware(approval_callback=person, tool_configs=configs), steps)
    assert [message.status for message in result] == ["success", "error"]
    strict = ApprovalMiddleware(ApprovalController(mode="strict", approval_callback=person))
    assert run(way, strict, [("send", {"to": "ada"})])[0].status == "error"
    assert person.asked == [] and ran == ["sky"]


@both
def test_the_run_ends_with_an_exception_where_a_no_is_to_stop_it(way: str) -> None:
    middleware = ApprovalMiddleware(approval_callback=Person(no("enough")), on_denial="stop")
    with pytest.raises(ApprovalDenied, match="enough"):
        run(way, middleware, [("send", {"to": "ada"})])
    assert ran == []


@both
@pytest.mark.parametrize("answer", [True, "yes", None, {"approved": 1}], ids=repr)
def test_what_is_no_decision_approves_nothing(way: str, answer: Any) -> None:
    result = run(way, ApprovalMiddleware(approval_callback=Person(answer)), [("send", {"to": "ada"})])
    assert result[0].status == "error" and ran == []


@both
def test_a_tool_that_raises_raises_unchanged(way: str) -> None:
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


def test_a_function_behind_a_tool_speaks_for_it() -> None:
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


def test_a_tools_own_check_sees_the_frameworks_config() -> None:
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


def test_a_tool_that_the_agent_does_not_have_is_not_run() -> None:
    result = run("sync", ApprovalMiddleware(approval_callback=Person(yes())), [("nothing", {})])
    assert result[0].status == "error"


@both
def test_a_tool_node_of_a_graph_asks_too(way: str) -> None:
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


def test_an_agent_inside_a_tool_asks_through_the_same_controller() -> None:
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


def test_a_cancelled_run_takes_its_question_with_it() -> None:
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


def test_arguments_that_contradict_each_other_raise() -> None:
    with pytest.raises(ConfigError):
        ApprovalMiddleware(ApprovalController(mode="strict"), approval_callback=Person())
    with pytest.raises(ConfigError):
        ApprovalMiddleware(approval_callback=Person(), pause=True)
    with pytest.warns(DeprecationWarning):
        ApprovalMiddleware(approval_callback=Person(), pre_approved=["look"])
