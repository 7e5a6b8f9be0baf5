"""``ApprovalToolset`` around a function toolset, in agents with a scripted model."""

from __future__ import annotations

import asyncio
import threading
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from frameworks import Board, Person, edit, no, scripted, tool_returns, yes
from pydantic_ai import Agent, ModelRetry, RunContext, ToolReturn
from pydantic_ai.toolsets import FunctionToolset

from askfirst import ApprovalController, ApprovalDecision, ApprovalDenied, ApprovalMemory
from askfirst.pydantic_ai import ApprovalToolset

ran: list[Any] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


def delete(path: str) -> str:
    ran.append(path)
    return f"deleted {path}"


def read(path: str) -> str:
    ran.append(path)
    return f"read {path}"


def toolset(**options: Any) -> ApprovalToolset[Any]:
    return ApprovalToolset(FunctionToolset([delete, read]), **options)


def run(gated: Any, *steps: Any, deps: Any = None) -> list[tuple[str, Any, str]]:
    agent = Agent(scripted(*steps), toolsets=[gated], deps_type=object)
    return tool_returns(agent.run_sync("go", deps=deps).all_messages())


def test_approved_call_runs_with_its_args() -> None:
    person = Person(yes())
    assert run(toolset(approval_callback=person), [("delete", {"path": "a"})]) == [("delete", "deleted a", "success")]
    assert person.names == ["delete"] and person.asked[0].args == {"path": "a"}


def test_denied_call_is_message_to_model_and_run_continues() -> None:
    person = Person(no("keep it"), yes())
    returns = run(toolset(approval_callback=person), [("delete", {"path": "a"})], [("read", {"path": "a"})])
    assert [(name, outcome) for name, _, outcome in returns] == [("delete", "denied"), ("read", "success")]
    assert "keep it" in returns[0][1] and ran == ["a"]


def test_denied_call_does_not_drop_other_calls() -> None:
    person = Person(each=lambda request: no("not b") if request.args["path"] == "b" else yes())
    steps = [("delete", {"path": name}) for name in "abc"]
    returns = run(toolset(approval_callback=person), steps)
    assert [outcome for _, _, outcome in returns] == ["success", "denied", "success"]
    assert sorted(ran) == ["a", "c"]


def test_parallel_calls_share_one_dialog() -> None:
    board = Board(lambda request: yes())
    run(toolset(approval_callback=board), [("delete", {"path": name}) for name in "abc"])
    assert [len(group) for group in board.groups] == [3]
    assert sorted(ran) == ["a", "b", "c"]


def test_equal_parallel_calls_share_question() -> None:
    person = Person(yes())
    returns = run(toolset(approval_callback=person), [("delete", {"path": "a"}), ("delete", {"path": "a"})])
    assert len(person.asked) == 1
    assert [outcome for _, _, outcome in returns] == ["success", "success"] and ran == ["a", "a"]


def test_edited_call_runs_with_edited_args() -> None:
    person = Person(edit(path="b"), yes())
    returns = run(toolset(approval_callback=person), [("delete", {"path": "a"})])
    assert returns == [("delete", "deleted b", "success")] and ran == ["b"]


def told(agent_messages: Any) -> list[str]:
    """Return the texts that the model reads after the first prompt, apart from the results."""
    parts = [part for message in agent_messages[1:] for part in getattr(message, "parts", ())]
    prompts = [part.content for part in parts if part.part_kind == "user-prompt"]
    return ["\n".join(prompt) if isinstance(prompt, list) else prompt for prompt in prompts]


def test_model_learns_of_edit_and_note() -> None:
    person = Person(ApprovalDecision(approved=True, edited_args={"path": "b"}, note="a is in use"), yes(), yes())
    agent = Agent(scripted([("delete", {"path": "a"})], [("read", {"path": "b"})]), toolsets=[toolset(approval_callback=person)])
    messages = agent.run_sync("go").all_messages()
    assert [content for _, content, _ in tool_returns(messages)] == ["deleted b", "read b"]
    (notice,) = told(messages)
    assert '{"path":"b"}' in notice and "a is in use" in notice


def test_model_learns_of_note_beside_content_of_tool() -> None:
    def look(path: str) -> ToolReturn[Any]:
        return ToolReturn(return_value="seen", content=f"picture of {path}")

    person = Person(yes(note="only this one"))
    gated: ApprovalToolset[Any] = ApprovalToolset(FunctionToolset([look]), approval_callback=person)
    messages = Agent(scripted([("look", {"path": "a"})]), toolsets=[gated]).run_sync("go").all_messages()
    (notice,) = told(messages)
    assert "picture of a" in notice and "only this one" in notice
    assert tool_returns(messages)[0][1] == "seen"


def test_invalid_args_go_back_to_model_without_a_question() -> None:
    person = Person(yes())
    steps = [("delete", {"pth": "a"})], [("nothing", {})], [("delete", {"path": "a"})]
    agent = Agent(scripted(*steps), toolsets=[toolset(approval_callback=person)], retries=3)
    assert tool_returns(agent.run_sync("go").all_messages())[-1] == ("delete", "deleted a", "success")
    assert [request.args for request in person.asked] == [{"path": "a"}]


def test_toolset_wrapped_twice_asks_once() -> None:
    person = Person(each=lambda request: yes())
    controller = ApprovalController(approval_callback=person)
    gated: Any = ApprovalToolset(toolset(controller=controller), controller)
    steps = [("delete", {"path": "a"}), ("delete", {"path": "b"})], [("read", {"path": "c"})]
    assert [outcome for _, _, outcome in run(gated, *steps)] == ["success"] * 3
    assert [request.args["path"] for request in person.asked] == ["a", "b", "c"] and sorted(ran) == ["a", "b", "c"]


def test_toolset_wrapped_twice_asks_once_about_an_edit() -> None:
    person = Person(edit(path="b"), yes())
    controller = ApprovalController(approval_callback=person)
    gated: Any = ApprovalToolset(toolset(controller=controller), controller)
    assert run(gated, [("delete", {"path": "a"})])[0][1] == "deleted b"
    assert len(person.asked) == 2 and ran == ["b"]


def test_stricter_inner_toolset_asks_again_or_denies() -> None:
    for approval, asked, result in (("human", 2, "success"), ("deny", 1, "denied")):
        person = Person(each=lambda request: yes())
        controller = ApprovalController(approval_callback=person)
        inner = toolset(controller=controller, tool_configs={"delete": {"approval": approval}})
        assert run(ApprovalToolset(inner, controller), [("delete", {"path": "a"})])[0][2] == result
        assert len(person.asked) == asked


def test_inner_toolset_with_own_controller_asks_its_own_person() -> None:
    outer, inner = Person(yes()), Person(no("not mine"))
    gated: Any = ApprovalToolset(toolset(approval_callback=inner), approval_callback=outer)
    assert run(gated, [("delete", {"path": "a"})])[0][2] == "denied"
    assert len(outer.asked) == len(inner.asked) == 1 and ran == []


def test_equal_call_inside_an_approved_tool_asks_again() -> None:
    person = Person(yes(), no("not twice"))
    controller = ApprovalController(approval_callback=person)

    async def delegate(task: str) -> str:
        inner: Any = ApprovalToolset(FunctionToolset([finish]), controller)
        return (await Agent(scripted([("delegate", {"task": task})]), toolsets=[inner]).run("go")).output

    def finish(task: str) -> str:
        ran.append(task)
        return "done"

    finish.__name__ = "delegate"
    outer: Any = ApprovalToolset(FunctionToolset([delegate]), controller)
    run(outer, [("delegate", {"task": "a"})])
    assert len(person.asked) == 2 and ran == []


def test_stop_on_one_call_of_a_group_asks_no_more() -> None:
    person = Person(ApprovalDecision(approved=False, note="stop", stop=True), yes(), yes())
    returns = run(toolset(approval_callback=person), [("delete", {"path": name}) for name in "abc"])
    assert [outcome for _, _, outcome in returns] == ["denied"] * 3
    assert len(person.asked) == 1 and ran == []


def test_no_under_on_denial_stop_asks_no_more() -> None:
    person = Person(no("enough"), yes(), yes())
    with pytest.raises(ApprovalDenied, match="enough"):
        run(toolset(approval_callback=person, on_denial="stop"), [("delete", {"path": name}) for name in "abc"])
    assert len(person.asked) == 1 and ran == []


def test_callback_with_constant_edit_terminates() -> None:
    person = Person(each=lambda request: edit(path="b"))
    assert run(toolset(approval_callback=person), [("delete", {"path": "a"})])[0][1] == "deleted b"


def test_edited_call_is_judged_again() -> None:
    gated = toolset(
        approval_callback=Person(each=lambda request: edit(path="secret")),
        tool_configs={"delete": [{"approval": "deny", "when": {"path": ["secret"]}}, {"approval": "required"}]},
    )
    assert run(gated, [("delete", {"path": "a"})])[0][2] == "denied"
    assert ran == []


def test_edited_args_are_converted_to_tool_types() -> None:
    def wait(until: datetime, where: Path) -> str:
        ran.append((until, where))
        return "waited"

    person = Person(edit(until="2026-01-02T03:04:05", where="b"), yes())
    gated: ApprovalToolset[Any] = ApprovalToolset(FunctionToolset([wait]), approval_callback=person)
    returns = run(gated, [("wait", {"until": "2025-01-01T00:00:00", "where": "a"})])
    assert returns[0][2] == "success"
    assert ran == [(datetime(2026, 1, 2, 3, 4, 5), Path("b"))]


def test_edited_args_that_do_not_fit_fail_without_running() -> None:
    person = Person(edit(path=7), yes())
    returns = run(toolset(approval_callback=person), [("delete", {"path": "a"})])
    assert returns[0][2] == "failed" and "do not fit" in returns[0][1] and ran == []


def test_remembered_answer_is_not_asked_again() -> None:
    person = Person(yes(remember="session"))
    call = [("delete", {"path": "a"})]
    run(toolset(approval_callback=person), call, call, [("delete", {"path": "b"})])
    assert [request.args["path"] for request in person.asked] == ["a", "b"] and ran == ["a", "a"]


def test_empty_memory_passed_in_is_kept() -> None:
    memory = ApprovalMemory()
    gated = toolset(approval_callback=Person(yes(remember="session")), memory=memory)
    run(gated, [("delete", {"path": "a"})])
    assert gated.memory is memory and len(memory.list()) == 1


def test_modes_decide_without_callback() -> None:
    person = Person(yes(), yes())
    controller = ApprovalController(mode="approve_all", approval_callback=person)
    assert run(toolset(controller=controller), [("delete", {"path": "a"})])[0][2] == "success"
    strict = ApprovalController(mode="strict", approval_callback=person)
    assert run(toolset(controller=strict), [("delete", {"path": "b"})])[0][2] == "denied"
    assert person.asked == [] and ran == ["a"]


def test_no_under_on_denial_stop_raises() -> None:
    with pytest.raises(ApprovalDenied, match="enough"):
        run(toolset(approval_callback=Person(no("enough")), on_denial="stop"), [("delete", {"path": "a"})])
    assert ran == []


@pytest.mark.parametrize("answer", [True, "yes", 1, None, object(), {"approved": "yes"}, {"approve": True}])
def test_value_that_is_not_decision_approves_nothing(answer: Any) -> None:
    returns = run(toolset(approval_callback=Person(answer)), [("delete", {"path": "a"})])
    assert returns[0][2] == "denied" and ran == []


def test_raising_callback_approves_nothing() -> None:
    def broken(request: Any) -> Any:
        raise RuntimeError("the service is down")

    returns = run(toolset(approval_callback=broken), [("delete", {"path": "a"})])
    assert returns[0][2] == "denied" and ran == []


def test_exception_of_tool_is_unchanged() -> None:
    class Odd(Exception):
        pass

    def fail() -> str:
        raise Odd("broken pipe")

    gated: ApprovalToolset[Any] = ApprovalToolset(FunctionToolset([fail]), approval_callback=Person(yes()))
    with pytest.raises(Odd, match="broken pipe"):
        run(gated, [("fail", {})])


def test_model_retry_of_tool_reaches_model() -> None:
    def pick(n: int) -> int:
        if n < 2:
            raise ModelRetry("larger")
        return n

    inner: Any = FunctionToolset([pick], max_retries=2)
    gated: ApprovalToolset[Any] = ApprovalToolset(inner, approval_callback=Person(yes(), yes()))
    returns = run(gated, [("pick", {"n": 1})], [("pick", {"n": 2})])
    assert returns[-1][1:] == (2, "success")


def test_async_prompt_does_not_block_event_loop() -> None:
    async def main() -> tuple[int, str]:
        ticks = 0
        answered = asyncio.Event()

        async def ask(request: Any) -> Any:
            await answered.wait()
            return yes()

        async def tick() -> None:
            nonlocal ticks
            for _ in range(20):
                ticks += 1
                await asyncio.sleep(0)
            answered.set()

        agent = Agent(scripted([("delete", {"path": "a"})]), toolsets=[toolset(approval_callback=ask)])
        result, _ = await asyncio.gather(agent.run("go"), tick())
        return ticks, result.output

    assert asyncio.run(main()) == (20, "done")


def test_blocking_prompt_does_not_block_event_loop() -> None:
    async def main() -> None:
        go_on = threading.Event()

        def ask(request: Any) -> Any:
            assert go_on.wait(30)
            return yes()

        async def release() -> None:
            await asyncio.sleep(0.01)
            go_on.set()

        agent = Agent(scripted([("delete", {"path": "a"})]), toolsets=[toolset(approval_callback=ask)])
        await asyncio.gather(agent.run("go"), release())

    asyncio.run(main())
    assert ran == ["a"]


def test_canceled_run_withdraws_its_question() -> None:
    async def main() -> None:
        asked = asyncio.Event()
        withdrawn = asyncio.Event()

        async def ask(request: Any) -> Any:
            asked.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                withdrawn.set()
                raise

        agent = Agent(scripted([("delete", {"path": "a"})]), toolsets=[toolset(approval_callback=ask)])
        task = asyncio.create_task(agent.run("go"))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(withdrawn.wait(), 30)

    asyncio.run(main())
    assert ran == []


def test_call_context_has_run_session_and_caller() -> None:
    seen: list[Any] = []

    def tell(x: int) -> int:
        return x

    tell.check_approval = lambda ctx: seen.append(ctx)  # type: ignore[attr-defined]
    gated: ApprovalToolset[Any] = ApprovalToolset(FunctionToolset([tell]), approval_callback=Person())
    run(gated, [("tell", {"x": 1})], deps=SimpleNamespace(session_id="s1", worker_name="scribe"))
    assert seen[0].tool_name == "tell" and seen[0].args == {"x": 1}
    metadata = seen[0].metadata
    assert metadata["session_id"] == "s1" and metadata["caller"] == "scribe" and metadata["run_id"]


def test_person_sees_caller() -> None:
    person = Person(yes())
    run(toolset(approval_callback=person), [("delete", {"path": "a"})], deps={"worker_name": "scribe"})
    assert person.asked[0].caller == "scribe"


def test_agent_inside_tool_asks_through_same_controller() -> None:
    person = Person(each=lambda request: yes(remember="session"))
    controller = ApprovalController(approval_callback=person)

    async def delegate(ctx: RunContext[Any], task: str) -> str:
        steps = ([("delete", {"path": task})], [("read", {"path": task})])
        inner = Agent(scripted(*steps), toolsets=[toolset(controller=controller)], name="inner")
        return (await inner.run(task)).output

    outer: ApprovalToolset[Any] = ApprovalToolset(FunctionToolset([delegate]), controller)
    both = [outer, toolset(controller=controller)]
    agent = Agent(scripted([("delegate", {"task": "a"})]), toolsets=both, name="outer")
    assert agent.run_sync("go").output == "done"
    assert person.names == ["delegate", "delete", "read"]
    assert [request.caller for request in person.asked] == ["outer", "inner", "inner"]
    assert ran == ["a", "a"]


@pytest.mark.parametrize("value", [float("nan"), 10**400], ids=["nan", "huge"])
def test_arguments_outside_json_are_never_approved(value: Any) -> None:
    def take(x: Any) -> str:
        ran.append(x)
        return "taken"

    gated: ApprovalToolset[Any] = ApprovalToolset(FunctionToolset([take]), ApprovalController(mode="approve_all"))

    async def call() -> Any:
        return await gated.call_tool("take", {"x": value}, None, None)  # type: ignore[arg-type]

    try:
        result = asyncio.run(call())
    except (ValueError, TypeError, OverflowError):
        result = None
    assert ran == [] and (result is None or "take" in result.message)
