"""``ApprovalToolset`` and its session: audit log, nested questions, shared controllers, garbage collection."""

from __future__ import annotations

import gc
import time
import weakref
from pathlib import Path
from typing import Any

import pytest
from frameworks import Board, Person, no, scripted, tool_returns, yes
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


def test_named_ledger_gets_entries(tmp_path: Path) -> None:
    person = Person(yes(), no("rather not"))
    gated: Any = ApprovalToolset(FunctionToolset([act]), approval_callback=person, ledger=tmp_path / "ledger" / "l")
    run(gated, [("act", {"x": "first"})], [("act", {"x": "second"})])
    text = recorded(tmp_path / "ledger")
    assert "first" in text and "second" in text and "rather not" in text


def test_handler_logs_result_of_tool(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger" / "l"
    handler: ApprovalHandler[Any] = ApprovalHandler(approval_callback=Person(yes()), ledger=ledger)
    agent: Agent[Any, Any] = Agent(scripted([("send", {"to": "ada"})]), capabilities=[handler])

    @agent.tool_plain(requires_approval=True)
    def send(to: str) -> str:
        assert "ada" in recorded(tmp_path / "ledger") and "executed" not in recorded(tmp_path / "ledger")
        return "delivered"

    agent.run_sync("go")
    assert "executed" in recorded(tmp_path / "ledger")


def test_running_tool_may_ask() -> None:
    async def outer(x: str) -> str:
        request = ApprovalRequest(tool_name="inner", description="Inner step", payload={"x": x})
        decision = await askfirst.request_approval(request)
        return "inner yes" if decision.approved else "inner no"

    person = Person(yes(), no())
    gated: Any = ApprovalToolset(FunctionToolset([outer]), approval_callback=person)
    assert run(gated, [("outer", {"x": "a"})])[0][1] == "inner no"
    assert [request.description for request in person.asked][1] == "Inner step"


def test_callback_of_controller_means_the_controller() -> None:
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


def test_unreferenced_toolset_is_collected() -> None:
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


@pytest.mark.parametrize("by", ["callback", "async callback", "assess", "override"])
def test_cycle_through_callback_is_collected(by: str) -> None:
    class Holder:
        session: Any = None
        asked = 0

        def answer(self, request: ApprovalRequest) -> Any:
            self.asked += 1
            return yes()

        async def answer_async(self, request: ApprovalRequest) -> Any:
            return self.answer(request)

        def look(self, name: str, args: Any, metadata: Any, entry: Any = None) -> bool:
            self.asked += 1
            return False

    holder = Holder()
    answer = {"callback": holder.answer, "async callback": holder.answer_async}.get(by)
    controller = ApprovalController(mode="interactive" if answer else "strict", approval_callback=answer)
    kinds: dict[str, Any] = {"assess": {"assess": holder.look}, "override": {"override": holder.look}}
    holder.session = askfirst.Session(controller=controller, **kinds.get(by, {}))
    gc.collect()
    # Reachable objects stay.
    assert holder.session.run("act", {"x": "a"}, act) == "did a" and holder.asked == 1
    gone = [weakref.ref(holder), weakref.ref(holder.session), weakref.ref(controller)]
    del holder, controller, answer, kinds
    # The thread of the callback may still be running.
    deadline = time.monotonic() + 20
    while any(each() is not None for each in gone) and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert [each() for each in gone] == [None] * 3


def test_toolsets_with_one_controller_share_dialog(tmp_path: Path) -> None:
    def other(x: str) -> str:
        return f"other {x}"

    board = Board(lambda request: no() if request.tool_name == "alone" else yes())
    controller = ApprovalController(approval_callback=board)
    recorded_too = {"ledger": tmp_path / "ledger" / "l"}
    first: Any = ApprovalToolset(FunctionToolset([act]), controller)
    second: Any = ApprovalToolset(FunctionToolset([other]), controller, **recorded_too)
    agent: Agent[Any, Any] = Agent(
        scripted([("act", {"x": "a"}), ("other", {"x": "b"}), ("act", {"x": "c"})]), toolsets=[first, second]
    )
    returns = tool_returns(agent.run_sync("go").all_messages())
    assert [content for _, content, _ in returns] == ["did a", "other b", "did c"]
    assert [[request.tool_name for request in group] for group in board.groups] == [["act", "other", "act"]]
    text = recorded(tmp_path / "ledger")
    assert "other" in text and "did" not in text


def test_toolsets_with_own_controllers_ask_separately() -> None:
    def other(x: str) -> str:
        return f"other {x}"

    boards = [Board(lambda request: yes()), Board(lambda request: yes())]
    toolsets: list[Any] = [
        ApprovalToolset(FunctionToolset([tool]), approval_callback=board) for tool, board in zip((act, other), boards)
    ]
    model = scripted([("act", {"x": "a"}), ("other", {"x": "b"})])
    agent: Agent[Any, Any] = Agent(model, toolsets=toolsets)
    returns = tool_returns(agent.run_sync("go").all_messages())
    assert [content for _, content, _ in returns] == ["did a", "other b"]
    assert [[len(group) for group in board.groups] for board in boards] == [[1], [1]]
