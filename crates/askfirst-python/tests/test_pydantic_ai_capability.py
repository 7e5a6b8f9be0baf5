"""``ApprovalCapability``: one name that puts approval around all tools of an agent."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from fastmcp.client import Client
from fastmcp.client.transports import StdioTransport
from frameworks import Board, Person, no, scripted, tool_returns, yes
from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.toolsets import FunctionToolset

import askfirst
from askfirst import ApprovalController, ConfigError
from askfirst.pydantic_ai import ApprovalCapability, ApprovalToolset

ran: list[Any] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


def act(x: str) -> str:
    ran.append(x)
    return f"did {x}"


class Tools(AbstractCapability[Any]):
    """A capability that brings a tool of its own."""

    def get_toolset(self) -> Any:
        def other(x: str) -> str:
            ran.append(f"other {x}")
            return "other"

        return FunctionToolset([other])


def agent_with(gate: ApprovalCapability[Any], *steps: Any, **options: Any) -> Agent[Any, Any]:
    agent: Agent[Any, Any] = Agent(scripted(*steps), capabilities=[gate, Tools()], **options)

    @agent.tool_plain
    def plain(x: str) -> str:
        ran.append(f"plain {x}")
        return "plain"

    @agent.tool_plain(requires_approval=True)
    def marked(x: str) -> str:
        ran.append(f"marked {x}")
        return "marked"

    return agent


def test_every_tool_of_an_agent_asks(tmp_path: Path) -> None:
    board = Board(lambda request: no("not now"))
    transport = StdioTransport(
        sys.executable,
        [str(Path(__file__).with_name("mcp_server.py"))],
        env={"NOTES": str(tmp_path / "notes.txt")},
        keep_alive=False,
    )
    toolsets: list[Any] = [FunctionToolset([act]), MCPToolset(Client(transport))]
    calls = [(name, {"x": "a"}) for name in ("act", "plain", "marked", "other")] + [("add_note", {"text": "a"})]
    agent = agent_with(ApprovalCapability(approval_callback=board), calls, toolsets=toolsets)
    returns = tool_returns(agent.run_sync("go").all_messages())
    assert [outcome for _, _, outcome in returns] == ["denied"] * 5
    assert [sorted(request.tool_name for request in group) for group in board.groups] == [
        ["act", "add_note", "marked", "other", "plain"]
    ]
    assert ran == [] and not (tmp_path / "notes.txt").exists()


def test_approved_calls_run_and_memory_lasts_over_runs() -> None:
    person = Person(each=lambda request: yes(remember="session"))
    gate: ApprovalCapability[Any] = ApprovalCapability(
        approval_callback=person, tool_configs={"plain": {"approval": "none"}, "other": {"approval": "deny"}}
    )
    calls = [(name, {"x": "a"}) for name in ("plain", "marked", "other")]
    for _ in range(2):
        returns = tool_returns(agent_with(gate, calls).run_sync("go").all_messages())
        assert [outcome for _, _, outcome in returns] == ["success", "success", "denied"]
    assert person.names == ["marked"] and sorted(ran) == ["marked a"] * 2 + ["plain a"] * 2


def test_toolset_inside_a_gated_agent_asks_once() -> None:
    person = Person(each=lambda request: yes())
    controller = ApprovalController(approval_callback=person)
    agent = agent_with(
        ApprovalCapability(controller), [("act", {"x": "a"})], toolsets=[ApprovalToolset(FunctionToolset([act]), controller)]
    )
    agent.run_sync("go")
    assert person.names == ["act"] and ran == ["a"]


def test_override_in_a_toolset_class_reads_deps() -> None:
    class ByRole(ApprovalToolset[Any]):
        def needs_approval(self, name: str, args: dict[str, Any], ctx: Any = None) -> bool:
            return bool(ctx.deps != "admin")

    person = Person(each=lambda request: yes())
    gate: ApprovalCapability[Any] = ApprovalCapability(approval_callback=person, toolset_class=ByRole)
    for deps, asked in (("admin", []), ("guest", ["plain"])):
        agent_with(gate, [("plain", {"x": "a"})], deps_type=str).run_sync("go", deps=deps)
        assert person.names == asked


def test_concurrent_runs_of_a_gated_agent_keep_their_callers() -> None:
    person = Person(each=lambda request: yes() if request.caller == "good" else no())
    gate: ApprovalCapability[Any] = ApprovalCapability(approval_callback=person)

    async def main() -> list[Any]:
        agents = [agent_with(gate, [("plain", {"x": name})], name=name) for name in ("good", "bad") * 3]
        return await asyncio.gather(*(agent.run("go") for agent in agents))

    asyncio.run(main())
    assert ran == ["plain good"] * 3


def test_capability_refuses_wrong_arguments() -> None:
    assert askfirst.ApprovalCapability is ApprovalCapability
    with pytest.raises(ConfigError, match="did you mean `approval`"):
        ApprovalCapability(tool_configs={"plain": {"aproval": "none"}})
    with pytest.raises(TypeError):
        ApprovalCapability(aproval_callback=print)


def test_unknown_tool_name_warns() -> None:
    gate: ApprovalCapability[Any] = ApprovalCapability(
        approval_callback=Person(yes()), tool_configs={"palin": {"approval": "deny"}}
    )
    with pytest.warns(UserWarning, match="did you mean `plain`"):
        agent_with(gate, [("plain", {"x": "a"})]).run_sync("go")
