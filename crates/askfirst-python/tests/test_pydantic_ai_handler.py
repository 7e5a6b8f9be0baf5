"""``ApprovalHandler``: answers the calls that PydanticAI defers for approval."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from frameworks import Board, Person, edit, no, scripted, tool_returns, yes
from pydantic_ai import Agent, ApprovalRequired, DeferredToolRequests, RunContext
from pydantic_ai.toolsets import FunctionToolset

from askfirst import ApprovalController, ApprovalDenied
from askfirst.pydantic_ai import ApprovalHandler

ran: list[Any] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


def agent_with(handler: ApprovalHandler[Any], *steps: Any) -> Agent[Any, Any]:
    agent: Agent[Any, Any] = Agent(scripted(*steps), capabilities=[handler])

    @agent.tool_plain(requires_approval=True)
    def send(to: str, n: int = 1) -> str:
        ran.append((to, n))
        return f"sent to {to}"

    @agent.tool_plain
    def look(at: str) -> str:
        ran.append(at)
        return f"saw {at}"

    return agent


def run(handler: ApprovalHandler[Any], *steps: Any) -> list[tuple[str, Any, str]]:
    return tool_returns(agent_with(handler, *steps).run_sync("go").all_messages())


def test_approved_call_runs_and_run_continues() -> None:
    person = Person(yes())
    returns = run(ApprovalHandler(approval_callback=person), [("send", {"to": "ada"})])
    assert returns == [("send", "sent to ada", "success")]
    assert person.names == ["send"] and ran == [("ada", 1)]


def test_denial_is_message_to_model() -> None:
    returns = run(ApprovalHandler(approval_callback=Person(no("not today"))), [("send", {"to": "ada"})])
    assert returns[0][2] == "denied" and "not today" in returns[0][1] and ran == []


def test_parallel_calls_share_dialog_and_get_own_answers() -> None:
    board = Board(lambda request: no("not bob") if request.args["to"] == "bob" else yes())
    calls = [("send", {"to": "ada"}), ("look", {"at": "sky"}), ("send", {"to": "bob"}), ("send", {"to": "eve"})]
    returns = run(ApprovalHandler(approval_callback=board), calls)
    assert [[request.args["to"] for request in group] for group in board.groups] == [["ada", "bob", "eve"]]
    assert sorted(outcome for _, _, outcome in returns) == ["denied", "success", "success", "success"]
    assert sorted(map(str, ran)) == sorted(map(str, [("ada", 1), ("eve", 1), "sky"]))


def test_tool_without_approval_is_not_asked_about() -> None:
    person = Person()
    assert run(ApprovalHandler(approval_callback=person), [("look", {"at": "sky"})])[0][2] == "success"
    assert person.asked == []


def test_edited_args_are_validated_and_run() -> None:
    person = Person(edit(to="eve", n="3"), yes())
    assert run(ApprovalHandler(approval_callback=person), [("send", {"to": "ada"})])[0][1] == "sent to eve"
    assert ran == [("eve", 3)]


def test_model_learns_of_edit_and_note() -> None:
    person = Person(edit(to="eve"), yes(note="ada is away"))
    agent = agent_with(ApprovalHandler(approval_callback=person), [("send", {"to": "ada"})])
    text = str(agent.run_sync("go").all_messages())
    assert '"to":"eve"' in text and "wrote: ada is away" in text


@pytest.mark.parametrize("form", ["tool_configs", "config", "file"])
def test_unknown_tool_name_warns(form: str, tmp_path: Path) -> None:
    entries = {"sned": {"approval": "deny"}}
    (tmp_path / "askfirst.yaml").write_text("version: 1\ntools: { sned: { approval: deny } }\n")
    forms: Any = {"tool_configs": entries, "config": {"tools": entries}, "file": tmp_path / "askfirst.yaml"}
    more = {"config" if form == "file" else form: forms[form]}
    handler: ApprovalHandler[Any] = ApprovalHandler(approval_callback=Person(yes()), **more)
    with pytest.warns(UserWarning, match="did you mean `send`"):
        run(handler, [("send", {"to": "ada"})])


def test_edited_args_that_do_not_fit_do_not_run() -> None:
    person = Person(edit(to="eve", n="three"), yes())
    returns = run(ApprovalHandler(approval_callback=person), [("send", {"to": "ada"})])
    assert returns[0][2] != "success" and ran == []


def test_remembered_answer_is_not_asked_again() -> None:
    person = Person(yes(remember="session"))
    call = [("send", {"to": "ada"})]
    run(ApprovalHandler(approval_callback=person), call, call)
    assert len(person.asked) == 1 and ran == [("ada", 1), ("ada", 1)]


def test_config_decides_before_person() -> None:
    person = Person()
    free = {"send": {"approval": "none"}}
    handler: ApprovalHandler[Any] = ApprovalHandler(approval_callback=person, tool_configs=free)
    assert run(handler, [("send", {"to": "ada"})])[0][2] == "success"
    handler = ApprovalHandler(approval_callback=person, tool_configs={"send": {"approval": "deny"}})
    assert run(handler, [("send", {"to": "ada"})])[0][2] == "denied"
    assert person.asked == [] and len(ran) == 1


def test_metadata_of_approval_required_is_shown() -> None:
    person = Person(yes())
    handler: ApprovalHandler[Any] = ApprovalHandler(approval_callback=person)
    agent: Agent[Any, Any] = Agent(scripted([("pay", {"amount": 500})]), capabilities=[handler])

    @agent.tool
    def pay(ctx: RunContext[Any], amount: int) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"description": f"Pay {amount} euro", "payload": {"kind": "payment"}})
        return "paid"

    assert agent.run_sync("go").output == "done"
    assert person.asked[0].description == "Pay 500 euro" and person.asked[0].payload == {"kind": "payment"}


def test_block_of_function_holds_in_handler() -> None:
    def wipe(disk: str) -> str:
        ran.append(disk)
        return "wiped"

    def check(ctx: Any) -> None:
        raise PermissionError("mounted")

    wipe.check_approval = check  # type: ignore[attr-defined]
    toolset: FunctionToolset[Any] = FunctionToolset()
    toolset.add_function(wipe, requires_approval=True)
    handler: ApprovalHandler[Any] = ApprovalHandler(ApprovalController(mode="approve_all"))
    agent: Agent[Any, Any] = Agent(scripted([("wipe", {"disk": "sda"})]), toolsets=[toolset], capabilities=[handler])
    returns = tool_returns(agent.run_sync("go").all_messages())
    assert returns[0][2] == "denied" and "mounted" in returns[0][1] and ran == []


def test_one_handler_serves_nested_agents() -> None:
    board = Board(lambda request: yes())
    handler: ApprovalHandler[Any] = ApprovalHandler(approval_callback=board)
    inner = agent_with(handler, [("send", {"to": "ada"}), ("send", {"to": "bob"})])
    outer: Agent[Any, Any] = Agent(scripted([("delegate", {})]), capabilities=[handler])

    @outer.tool_plain(requires_approval=True)
    async def delegate() -> str:
        return str((await inner.run("go")).output)

    assert outer.run_sync("go").output == "done"
    assert [[request.tool_name for request in group] for group in board.groups] == [["delegate"], ["send", "send"]]
    assert sorted(ran) == [("ada", 1), ("bob", 1)]


def test_concurrent_runs_get_their_own_answers() -> None:
    person = Person(each=lambda request: yes() if request.args["to"] == "ada" else no())
    handler: ApprovalHandler[Any] = ApprovalHandler(approval_callback=person)

    async def main() -> None:
        agents = [agent_with(handler, [("send", {"to": name})]) for name in ("ada", "bob") * 5]
        await asyncio.gather(*(agent.run("go") for agent in agents))

    asyncio.run(main())
    assert ran == [("ada", 1)] * 5


def test_no_under_on_denial_stop_raises() -> None:
    with pytest.raises(ApprovalDenied, match="enough"):
        run(ApprovalHandler(approval_callback=Person(no("enough")), on_denial="stop"), [("send", {"to": "ada"})])


def test_externally_executed_calls_stay_deferred() -> None:
    from pydantic_ai import CallDeferred

    person = Person(yes())
    agent: Agent[Any, Any] = Agent(
        scripted([("later", {}), ("now", {})]),
        capabilities=[ApprovalHandler(approval_callback=person)],
        output_type=[str, DeferredToolRequests],
    )

    @agent.tool_plain
    def later() -> str:
        raise CallDeferred

    @agent.tool_plain(requires_approval=True)
    def now() -> str:
        ran.append("now")
        return "done"

    output = agent.run_sync("go").output
    assert isinstance(output, DeferredToolRequests) and [call.tool_name for call in output.calls] == ["later"]
    assert person.names == ["now"] and ran == ["now"]


def test_canceled_run_withdraws_its_questions() -> None:
    async def main() -> int:
        asked, withdrawn = asyncio.Event(), 0

        async def ask(request: Any) -> Any:
            nonlocal withdrawn
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                withdrawn += 1

        agent = agent_with(ApprovalHandler(approval_callback=ask), [("send", {"to": "ada"})])
        task = asyncio.create_task(agent.run("go"))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(1000):
            if withdrawn:
                break
            await asyncio.sleep(0.01)
        return withdrawn

    assert asyncio.run(main()) == 1
    assert ran == []


def test_broken_callback_approves_nothing() -> None:
    def broken(request: Any) -> Any:
        raise RuntimeError("down")

    assert run(ApprovalHandler(approval_callback=broken), [("send", {"to": "ada"})])[0][2] == "denied"
    assert run(ApprovalHandler(approval_callback=lambda request: True), [("send", {"to": "ada"})])[0][2] == "denied"
    assert ran == []
