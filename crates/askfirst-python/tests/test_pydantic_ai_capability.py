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
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.toolsets import CombinedToolset, FunctionToolset

import askfirst
from askfirst import ApprovalController, ConfigError
from askfirst.pydantic_ai import ApprovalCapability, ApprovalToolset, ConfigToolset, FileToolset

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


class Outside(AbstractCapability[Any]):
    """A capability that adds a tool around the tools of all others, if its place allows it."""

    def __init__(self, position: Any) -> None:
        self.position = position

    def get_ordering(self) -> Any:
        return None if self.position is None else CapabilityOrdering(position=self.position)

    def get_wrapper_toolset(self, toolset: Any) -> Any:
        def outer(x: str) -> str:
            ran.append(f"outer {x}")
            return "outer"

        return CombinedToolset([toolset, FunctionToolset([outer])])


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


@pytest.mark.parametrize("position", [None, "outermost", "innermost"])
@pytest.mark.parametrize("gates", [1, 2])
@pytest.mark.parametrize("at_run", [False, True], ids=["agent", "run"])
def test_capability_is_outermost_wherever_it_stands(position: Any, gates: int, at_run: bool) -> None:
    person = Person(each=lambda request: no())
    controller = ApprovalController(approval_callback=person)
    listed: list[Any] = [Outside(position), *[ApprovalCapability(controller) for _ in range(gates)]]
    model = scripted([("outer", {"x": "a"})])
    agent: Agent[Any, Any] = Agent(model, capabilities=[listed.pop(0)] if at_run else listed)
    agent.run_sync("go", capabilities=listed if at_run else None)
    assert person.names == ["outer"] and ran == []


def test_capability_works_without_capability_ordering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("pydantic_ai.capabilities.CapabilityOrdering")
    person = Person(each=lambda request: yes())
    gate: ApprovalCapability[Any] = ApprovalCapability(approval_callback=person)
    assert gate.get_ordering() is None
    agent_with(gate, [("plain", {"x": "a"})]).run_sync("go")
    assert person.names == ["plain"] and ran == ["plain a"]


CONFIG = """
version: 1
sandbox: { paths: { notes: { root: ., mode: rw, approval: { read: none, write: required } } } }
tools: { count: { command: [wc, -w, "{path}"], args: { path: { type: string } }, approval: deny } }
"""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    (tmp_path / "askfirst.yaml").write_text(CONFIG)
    (tmp_path / "a.txt").write_text("one\n")
    return tmp_path


WRITE = ("write_file", {"path": "a.txt", "content": "two\n"})
READ = ("read_file", {"path": "a.txt"})


@pytest.mark.parametrize("kind", [FileToolset, ConfigToolset])
@pytest.mark.parametrize("form", ["plain", "prefixed", "wrapped twice"])
def test_toolset_of_config_in_gated_agent_asks_once_with_diff(notes: Path, kind: Any, form: str) -> None:
    board = Board(lambda request: yes() if request.tool_name != "act" else no())
    controller = ApprovalController(approval_callback=board)
    files: Any = kind(notes / "askfirst.yaml", controller)
    prefix = "x_" if form == "prefixed" else ""
    given = files.prefixed("x") if prefix else ApprovalToolset(files, controller) if form == "wrapped twice" else files
    calls = [(prefix + READ[0], READ[1]), (prefix + WRITE[0], WRITE[1]), ("act", {"x": "a"})]
    gate: ApprovalCapability[Any] = ApprovalCapability(controller)
    agent: Agent[Any, Any] = Agent(scripted(calls), capabilities=[gate], toolsets=[given, FunctionToolset([act])])
    returns = tool_returns(agent.run_sync("go").all_messages())
    assert [outcome for _, _, outcome in returns] == ["success", "success", "denied"]
    asked = {request.tool_name: request for group in board.groups for request in group}
    assert sorted(asked) == ["act", "write_file"] and sum(map(len, board.groups)) == 2
    presentation = asked["write_file"].presentation
    assert presentation is not None and presentation.type == "diff" and "two" in presentation.content
    assert (notes / "a.txt").read_text() == "two\n" and ran == []


def test_gate_can_be_stricter_than_a_toolset_of_a_config(notes: Path) -> None:
    person = Person(each=lambda request: yes())
    controller = ApprovalController(approval_callback=person)
    entries: Any = {"read_file": {"approval": "required"}, "write_file": {"approval": "required"}, "edit_file": {"approval": "deny"}}
    gate: ApprovalCapability[Any] = ApprovalCapability(controller, tool_configs=entries)
    edit = ("edit_file", {"path": "a.txt", "old_string": "two", "new_string": "three"})
    steps = [READ], [WRITE], [edit], [("count", {"path": "a.txt"})]
    toolset: Any = ConfigToolset(notes / "askfirst.yaml", controller)
    agent: Agent[Any, Any] = Agent(scripted(*steps), capabilities=[gate], toolsets=[toolset])
    returns = tool_returns(agent.run_sync("go").all_messages())
    assert [outcome for _, _, outcome in returns] == ["success", "success", "denied", "denied"]
    assert person.names == ["read_file", "write_file"] and person.asked[1].presentation is not None
    assert (notes / "a.txt").read_text() == "two\n"


def test_gate_with_another_controller_asks_its_own_person(notes: Path) -> None:
    gates, files = Person(yes()), Person(yes())
    toolset: Any = FileToolset(notes / "askfirst.yaml", approval_callback=files)
    gate: ApprovalCapability[Any] = ApprovalCapability(approval_callback=gates)
    agent: Agent[Any, Any] = Agent(scripted([WRITE]), capabilities=[gate], toolsets=[toolset])
    agent.run_sync("go")
    assert gates.names == files.names == ["write_file"]


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
