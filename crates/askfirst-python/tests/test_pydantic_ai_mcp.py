"""``ApprovalToolset`` around an MCP server in its own process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from fastmcp.client import Client
from fastmcp.client.transports import StdioTransport
from frameworks import Board, Person, no, scripted, tool_returns, yes
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset

from askfirst.pydantic_ai import ApprovalToolset

SERVER = Path(__file__).with_name("mcp_server.py")


def notes(folder: Path) -> tuple[MCPToolset[Any], Path]:
    file = folder / "notes.txt"
    transport = StdioTransport(sys.executable, [str(SERVER)], env={"NOTES": str(file)}, keep_alive=False)
    return MCPToolset(Client(transport)), file


def run(gated: Any, *steps: Any) -> list[tuple[str, Any, str]]:
    return tool_returns(Agent(scripted(*steps), toolsets=[gated]).run_sync("go").all_messages())


def test_mcp_server_is_started_and_its_tools_ask(tmp_path: Path) -> None:
    server, file = notes(tmp_path)
    person = Person(each=lambda request: no("no secrets") if "secret" in request.args["text"] else yes())
    gated: Any = ApprovalToolset(server, approval_callback=person, tool_configs={"count_notes": {"approval": "none"}})
    returns = run(gated, [("add_note", {"text": "hello"}), ("add_note", {"text": "secret"})], [("count_notes", {})])
    assert [outcome for _, _, outcome in returns] == ["success", "denied", "success"]
    assert person.names == ["add_note", "add_note"]
    assert file.read_text() == "hello\n" and "1" in str(returns[2][1])


def test_parallel_calls_to_prefixed_server_share_dialog(tmp_path: Path) -> None:
    server, file = notes(tmp_path)
    board = Board(lambda request: yes())
    gated: Any = ApprovalToolset(server.prefixed("notes"), approval_callback=board)
    run(gated, [("notes_add_note", {"text": text}) for text in "ab"])
    assert [[request.tool_name for request in group] for group in board.groups] == [["notes_add_note"] * 2]
    assert sorted(file.read_text().split()) == ["a", "b"]


def test_denied_call_does_not_reach_mcp_server(tmp_path: Path) -> None:
    server, file = notes(tmp_path)
    assert run(ApprovalToolset(server, approval_callback=Person()), [("add_note", {"text": "x"})])[0][2] == "denied"
    assert not file.exists()


def test_call_that_fails_the_servers_schema_goes_back_to_model(tmp_path: Path) -> None:
    server, file = notes(tmp_path)
    person = Person(yes())
    agent = Agent(
        scripted([("add_note", {"text": 7})], [("add_note", {})], [("add_note", {"text": "x"})]),
        toolsets=[ApprovalToolset(server, approval_callback=person)],
        retries=3,
    )
    messages = agent.run_sync("go").all_messages()
    assert [request.args for request in person.asked] == [{"text": "x"}]
    assert file.read_text() == "x\n"
    assert "`text` must be a string, not a number" in str(messages) and "`text` is missing" in str(messages)


def test_remembered_yes_does_not_cover_changed_mcp_tool(tmp_path: Path) -> None:
    server, file = notes(tmp_path)
    person = Person(yes(remember="session"), no("it has changed"))
    gated: Any = ApprovalToolset(server, approval_callback=person)
    call = [("add_note", {"text": "x"})]
    assert [outcome for _, _, outcome in run(gated, call, call)] == ["success", "success"]
    assert len(person.asked) == 1 and person.asked[0].risk == "high"
    (tmp_path / "changed").touch()
    assert [outcome for _, _, outcome in run(gated, call)] == ["denied"]
    assert len(person.asked) == 2 and file.read_text() == "x\nx\n"
