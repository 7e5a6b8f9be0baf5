"""The fast path of a call that needs no approval: every rule and check still counts, on every call."""

from __future__ import annotations

from typing import Any

import pytest
from frameworks import Person, no, scripted, tool_returns, yes
from pydantic_ai import Agent, RunContext
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import RunUsage

import askfirst
from askfirst import ApprovalController, ApprovalRequest
from askfirst.pydantic_ai import ApprovalToolset

FREE = {"act": {"approval": "none"}}


def act(x: str) -> str:
    return f"did {x}"


def run(gated: Any, *xs: Any) -> list[Any]:
    steps = [[("act", {"x": x})] for x in xs]
    return [content for _, content, _ in tool_returns(Agent(scripted(*steps), toolsets=[gated]).run_sync("go").all_messages())]


def denied(content: Any) -> bool:
    return "refused" in str(content)


def test_check_attached_later_counts() -> None:
    def late(x: str) -> str:
        return f"did {x}"

    late.__name__ = "act"
    inner: Any = FunctionToolset([late])
    gated: Any = ApprovalToolset(inner, approval_callback=Person(), tool_configs=FREE)
    assert run(gated, "a") == ["did a"]

    def never(ctx: Any) -> None:
        raise PermissionError("not any more")

    late.check_approval = never  # type: ignore[attr-defined]
    assert denied(run(gated, "a")[0])
    del late.check_approval  # type: ignore[attr-defined]
    assert run(gated, "a") == ["did a"]
    inner.check_approval = never
    assert denied(run(gated, "a")[0])


def test_remembered_no_and_revoked_yes_count() -> None:
    person = Person(yes(remember="session"), no(), no())
    gated: Any = ApprovalToolset(FunctionToolset([act]), approval_callback=person)
    assert run(gated, "a", "a", "a") == ["did a"] * 3 and len(person.asked) == 1
    assert gated.memory.list()[0]["hits"] == 2
    gated.memory.revoke(gated.memory.list()[0]["id"])
    assert denied(run(gated, "a")[0]) and len(person.asked) == 2
    gated.memory.store("act", {"x": "a"}, askfirst.ApprovalDecision(approved=False, remember="session"))
    assert denied(run(gated, "a")[0]) and len(person.asked) == 2


def test_indistinguishable_values_are_equal() -> None:
    person = Person(yes(remember="session"))

    def take(x: Any) -> str:
        return f"took {x!r}"

    gated: Any = ApprovalToolset(FunctionToolset([take]), approval_callback=person)
    steps = [[("take", {"x": x})] for x in (1, 1, 1.0, True, "1", [1])]
    returns = tool_returns(Agent(scripted(*steps), toolsets=[gated]).run_sync("go").all_messages())
    assert [outcome for _, _, outcome in returns] == ["success"] * 2 + ["denied"] * 4


def test_stopped_run_runs_nothing_more() -> None:
    controller = ApprovalController(approval_callback=Person(yes(remember="session")))
    gated: Any = ApprovalToolset(FunctionToolset([act]), controller, tool_configs={"free": {"approval": "none"}})
    assert run(gated, "a", "a") == ["did a"] * 2
    controller.stop()
    assert denied(run(gated, "a")[0])


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 2**64, object(), {1: 2}])
def test_call_that_cannot_be_judged_does_not_run(bad: Any) -> None:
    session = askfirst.Session({"tools": {"t": {"approval": "none"}}})
    ran: list[Any] = []
    said = session.run("t", {"x": bad}, lambda x: ran.append(x))
    assert isinstance(said, askfirst.Denied) and "invalid arguments" in said and ran == []


def test_session_check_sees_calls_allowed_at_once() -> None:
    seen: list[Any] = []

    def look(name: str, args: Any, metadata: Any) -> Any:
        seen.append((name, dict(args), metadata))
        if args["x"] == "bad":
            raise PermissionError("never")

    session = askfirst.Session({"tools": FREE}, assess=look)
    assert session.run("act", {"x": "a"}, act, metadata={"caller": "ada"}) == "did a"
    assert denied(session.run("act", {"x": "bad"}, act))
    assert seen == [("act", {"x": "a"}, {"caller": "ada"}), ("act", {"x": "bad"}, {})]


def test_caller_is_known_with_and_without_override() -> None:
    class Deps:
        session_id, worker_name = "s1", "worker"

    heard: list[Any] = []

    class Own(ApprovalToolset[Any]):
        def needs_approval(self, name: str, args: dict[str, Any]) -> bool:
            heard.append(name)
            return args["x"] != "a"

    for kind in (ApprovalToolset, Own):
        person = Person(yes())
        gated: Any = kind(FunctionToolset([act]), approval_callback=person)
        agent: Any = Agent(scripted([("act", {"x": "b"})]), deps_type=Deps, toolsets=[gated])
        agent.run_sync("go", deps=Deps())
        assert [request.caller for request in person.asked] == ["worker"], kind
    assert heard == ["act"]


async def _call(gated: Any, ctx: Any) -> Any:
    tool = (await gated.get_tools(ctx))["act"]
    return await gated.call_tool("act", {"x": "a"}, ctx, tool)


def context(deps: Any = None) -> Any:
    return RunContext(deps=deps, model=TestModel(), usage=RunUsage(), run_id="r", tool_call_id="c")


def test_failing_deps_ask_no_one_and_run_nothing() -> None:
    import asyncio

    class Broken:
        @property
        def session_id(self) -> str:
            raise ValueError("no idea")

    person, ran = Person(yes()), []
    asked: Any = ApprovalToolset(FunctionToolset([act]), approval_callback=person)
    with pytest.raises(ValueError, match="no idea"):
        asyncio.run(_call(asked, context(Broken())))
    assert person.asked == [] and ran == []
    # Without a question, nothing reads the metadata.
    free: Any = ApprovalToolset(FunctionToolset([act]), approval_callback=person, tool_configs=FREE)
    assert asyncio.run(_call(free, context(Broken()))) == "did a"


def test_tool_allowed_at_once_may_ask_only_while_it_runs() -> None:
    import asyncio

    person = Person(yes(), no())

    async def nested(x: str) -> str:
        request = ApprovalRequest(tool_name="inner", description="Inner", payload={"x": x})
        return str((await askfirst.request_approval(request)).approved)

    nested.__name__ = "act"
    gated: Any = ApprovalToolset(FunctionToolset([nested]), approval_callback=person, tool_configs=FREE)

    async def whole() -> None:
        ctx = context()
        assert [await _call(gated, ctx), await _call(gated, ctx)] == ["True", "False"]
        request = ApprovalRequest(tool_name="inner", description="After", payload={})
        with pytest.raises(RuntimeError, match="only a running tool"):
            await askfirst.request_approval(request)

    asyncio.run(whole())
    assert [request.description for request in person.asked] == ["Inner", "Inner"]


def test_ticket_of_direct_call_ends_once() -> None:
    session = askfirst.Session({"tools": FREE})
    ticket = session.start("act", {"x": "a"})
    assert (ticket.state, ticket.args, ticket.edited, ticket.outcome) == ("run", {"x": "a"}, False, None)
    assert ticket.poll() == ticket.wait() == "run"
    ticket.cancel()
    assert ticket.state == "run"
    told: list[int] = []
    ticket.on_change(lambda: told.append(1))
    assert told == [1]
    assert ticket.finish("x") == "done" and ticket.state == "done"
    assert ticket.outcome is not None and ticket.outcome.kind == "done"
    with pytest.raises(RuntimeError, match="not running"):
        ticket.finish("x")
    with pytest.raises(RuntimeError, match="only a running tool"):
        ticket.ask({"tool_name": "t", "description": "d", "payload": {}})
    failed = session.start("act", {"x": "a"})
    assert failed.finish(error=ValueError("broke")) == "failed"
    assert failed.outcome is not None and failed.outcome.text == "ValueError: broke"
