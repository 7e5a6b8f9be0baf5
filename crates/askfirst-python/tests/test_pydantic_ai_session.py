"""What a session gives to ``ApprovalToolset``: a record, nested questions, one controller, and nothing left behind."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest
from frameworks import Person, no, scripted, tool_returns, yes
from pydantic_ai import Agent
from pydantic_ai.toolsets import FunctionToolset

import askfirst
from askfirst import ApprovalController, ApprovalMemory, ApprovalRequest, ConfigError
from askfirst.pydantic_ai import ApprovalHandler, ApprovalToolset


def act(x: str) -> str:
    return f"did {x}"


def run(gated: Any, *steps: Any) -> list[tuple[str, Any, str]]:
    return tool_returns(Agent(scripted(*steps), toolsets=[gated]).run_sync("go").all_messages())


def recorded(folder: Path) -> str:
    return "".join(path.read_text(errors="replace") for path in sorted(folder.rglob("*")) if path.is_file())


def test_calls_are_recorded_where_a_ledger_is_named(tmp_path: Path) -> None:
    person = Person(yes(), no("rather not"))
    gated: Any = ApprovalToolset(FunctionToolset([act]), approval_callback=person, ledger=tmp_path / "ledger" / "l")
    run(gated, [("act", {"x": "first"})], [("act", {"x": "second"})])
    text = recorded(tmp_path / "ledger")
    assert "first" in text and "second" in text and "rather not" in text


def test_the_handler_records_how_a_tool_ended(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger" / "l"
    handler: ApprovalHandler[Any] = ApprovalHandler(approval_callback=Person(yes()), ledger=ledger)
    agent: Agent[Any, Any] = Agent(scripted([("send", {"to": "ada"})]), capabilities=[handler])

    @agent.tool_plain(requires_approval=True)
    def send(to: str) -> str:
        assert "ada" in recorded(tmp_path / "ledger") and "executed" not in recorded(tmp_path / "ledger")
        return "delivered"

    agent.run_sync("go")
    assert "executed" in recorded(tmp_path / "ledger")


def test_a_tool_may_ask_while_it_runs() -> None:
    async def outer(x: str) -> str:
        request = ApprovalRequest(tool_name="inner", description="Inner step", payload={"x": x})
        decision = await askfirst.request_approval(request)
        return "inner yes" if decision.approved else "inner no"

    person = Person(yes(), no())
    gated: Any = ApprovalToolset(FunctionToolset([outer]), approval_callback=person)
    assert run(gated, [("outer", {"x": "a"})])[0][1] == "inner no"
    assert [request.description for request in person.asked][1] == "Inner step"


def test_a_controllers_callback_stands_for_the_controller() -> None:
    person = Person(yes(remember="session"))
    controller = ApprovalController(mode="interactive", approval_callback=person)
    gated: Any = ApprovalToolset(
        inner=FunctionToolset([act]), prompt_fn=controller.approval_callback, memory=controller.memory
    )
    assert gated.controller is controller
    strict = ApprovalController(mode="strict", approval_callback=person)
    gated = ApprovalToolset(FunctionToolset([act]), prompt_fn=strict.approval_callback)
    assert run(gated, [("act", {"x": "a"})])[0][2] == "denied" and person.asked == []
    with pytest.raises(ConfigError):
        ApprovalToolset(FunctionToolset([act]), prompt_fn=controller.approval_callback, memory=ApprovalMemory())


def test_a_toolset_that_nobody_holds_is_collected() -> None:
    class Own(ApprovalToolset[Any]):
        def needs_approval(self, name: str, args: dict[str, Any]) -> bool:
            return False

    for kind in (ApprovalToolset, Own):
        gated: Any = kind(FunctionToolset([act]), approval_callback=Person(each=lambda request: yes()))
        run(gated, [("act", {"x": "a"})])
        gone = weakref.ref(gated)
        del gated
        gc.collect()
        assert gone() is None, kind
