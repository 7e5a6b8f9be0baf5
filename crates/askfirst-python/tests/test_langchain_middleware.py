"""``ApprovalMiddleware`` in LangChain agents with a scripted model, without a checkpointer."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import pytest
from frameworks import Board, Person, chat, edit, no, yes
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from askfirst import ApprovalController, ApprovalDecision, ApprovalDenied, ConfigError, requires_approval
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
    assert str(result[0].content).startswith("sent to eve\n\naskfirst: ") and ran == [("eve", 2)]


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


@both
def test_unknown_tool_goes_back_to_model_without_a_question(way: str) -> None:
    person = Person(yes())
    result = run(way, ApprovalMiddleware(approval_callback=person), [("nothing", {})])
    assert result[0].status == "error" and result[0].content == "`nothing` did not run: there is no tool `nothing`"
    assert person.asked == []


@both
def test_invalid_args_go_back_to_model_without_a_question(way: str) -> None:
    person = Person(yes())
    steps = [("send", {"to": "ada", "n": "many"}), ("send", {})], [("send", {"to": "ada"})]
    result = run(way, ApprovalMiddleware(approval_callback=person), *steps)
    assert [message.status for message in result] == ["error", "error", "success"]
    assert "invalid arguments: n: Input should be a valid integer" in str(result[0].content)
    assert "invalid arguments: to: Field required" in str(result[1].content)
    assert len(person.asked) == 1 and ran == [("ada", 1)]


def test_invalid_args_of_tool_with_json_schema_go_back_to_model() -> None:
    from langchain_core.tools import StructuredTool

    schema = {"type": "object", "properties": {"disk": {"type": "string"}}, "required": ["disk"]}
    wipe = StructuredTool.from_function(lambda disk: ran.append(disk), name="wipe", description="Wipes.", args_schema=schema)
    person = Person(yes())
    model = chat([("wipe", {})], [("wipe", {"disk": "sda"})])
    agent = create_agent(model, [wipe], middleware=[ApprovalMiddleware(approval_callback=person)])
    result = messages(agent.invoke({"messages": [("user", "go")]}))
    assert "`disk` is missing" in str(result[0].content)
    assert len(person.asked) == 1 and ran == ["sda"]


@both
def test_model_learns_of_edit_and_note(way: str) -> None:
    person = Person(edit(to="eve"), yes(note="ada is away"), yes())
    result = run(way, ApprovalMiddleware(approval_callback=person), [("send", {"to": "ada"})], [("look", {"at": "sky"})])
    text, plain = result[0].content, result[1].content
    assert '"to":"eve"' in text and "wrote: ada is away" in text and plain == "saw sky"


def test_model_learns_of_note_beside_blocks_and_commands() -> None:
    @tool
    def blocks() -> list[dict[str, str]]:
        """Returns blocks."""
        return [{"type": "text", "text": "block"}]

    @tool
    def jump(call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Returns a command."""
        return Command(update={"messages": [ToolMessage("jumped", tool_call_id=call_id)]})

    person = Person(each=lambda request: yes(note="fine"))
    model = chat([("blocks", {})], [("jump", {})])
    agent = create_agent(model, [blocks, jump], middleware=[ApprovalMiddleware(approval_callback=person)])
    first, second = messages(agent.invoke({"messages": [("user", "go")]}))
    assert [block["text"] for block in first.content][-1].endswith("wrote: fine")  # type: ignore[index]
    assert str(second.content).startswith("jumped") and str(second.content).endswith("wrote: fine")


@both
def test_middleware_around_a_wrapper_asks_once(way: str) -> None:
    person = Person(each=lambda request: yes())
    controller = ApprovalController(approval_callback=person)
    middleware = ApprovalMiddleware(controller)
    steps = [("send", {"to": "ada"}), ("send", {"to": "bob"})]
    agent = create_agent(chat(steps), [ApprovalToolWrapper(send, controller)], middleware=[middleware])
    given: Any = {"messages": [("user", "go")]}
    messages(agent.invoke(given) if way == "sync" else asyncio.run(agent.ainvoke(given)))
    assert len(person.asked) == 2 and sorted(ran) == [("ada", 1), ("bob", 1)]


@both
def test_stop_on_one_call_of_a_group_asks_no_more(way: str) -> None:
    person = Person(ApprovalDecision(approved=False, note="stop", stop=True), yes(), yes())
    calls = [("send", {"to": name}) for name in ("ada", "bob", "eve")]
    result = run(way, ApprovalMiddleware(approval_callback=person), calls)
    assert [message.status for message in result] == ["error"] * 3
    assert len(person.asked) == 1 and ran == []


@pytest.mark.parametrize("form", ["tool_configs", "file"])
def test_unknown_tool_name_warns_with_suggestion(form: str, tmp_path: Path) -> None:
    file = tmp_path / "askfirst.yaml"
    file.write_text("version: 1\ntools: { sned: { approval: deny } }\n")
    more: Any = {"config": file} if form == "file" else {"tool_configs": {"sned": {"approval": "deny"}}}
    middleware = ApprovalMiddleware(approval_callback=Person(yes()), **more)
    with pytest.warns(UserWarning, match="`sned`, but no toolset offers it; hint: did you mean `send`") as caught:
        run("sync", middleware, [("send", {"to": "ada"})])
    assert len(caught) == 1


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
