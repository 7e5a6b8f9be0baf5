"""The tools of a config as PydanticAI toolsets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from frameworks import Person, edit, no, scripted, tool_returns, yes
from pydantic_ai import Agent

from askfirst import ApprovalController
from askfirst.pydantic_ai import ConfigToolset, FileToolset, ShellToolset

CONFIG = """
version: 1
sandbox:
  paths:
    project: { root: ., mode: ro }
    notes: { root: ./notes, mode: rw, approval: { read: none, write: required } }
shell:
  default: { approval: required }
  rules:
    - { pattern: "echo", approval: none }
    - { pattern: "sudo", approval: deny }
tools:
  word_count: { command: [wc, -w, "{path}"], args: { path: { type: string } }, approval: none }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("one two\n")
    (tmp_path / "askfirst.yaml").write_text(CONFIG)
    return tmp_path


def run(toolset: Any, *steps: Any) -> list[tuple[str, Any, str]]:
    return tool_returns(Agent(scripted(*steps), toolsets=[toolset]).run_sync("go").all_messages())


def offered(toolset: Any) -> set[str]:
    seen: set[str] = set()

    async def look(ctx: Any, tool_defs: list[Any]) -> list[Any]:
        seen.update(tool.name for tool in tool_defs)
        return tool_defs

    Agent(scripted(), toolsets=[toolset.prepared(look)]).run_sync("go")
    return seen


def test_each_toolset_offers_its_own_tools(folder: Path) -> None:
    config = folder / "askfirst.yaml"
    files, shell = offered(FileToolset(config)), offered(ShellToolset(config))
    assert {"read_file", "write_file", "list_files"} <= files and "shell" in shell
    assert not files & shell and "word_count" not in shell
    assert files | shell <= offered(ConfigToolset(config))


def test_reading_is_allowed_and_writing_asks(folder: Path) -> None:
    person = Person(yes())
    toolset: Any = FileToolset(folder / "askfirst.yaml", approval_callback=person)
    returns = run(
        toolset,
        [("read_file", {"path": "notes/a.txt"})],
        [("write_file", {"path": "notes/b.txt", "content": "new\n"})],
    )
    assert [outcome for _, _, outcome in returns] == ["success", "success"]
    assert "one two" in str(returns[0][1]) and person.names == ["write_file"]
    assert (folder / "notes" / "b.txt").read_text() == "new\n"


def test_person_sees_diff(folder: Path) -> None:
    person = Person(no("leave it"))
    toolset: Any = FileToolset(folder / "askfirst.yaml", approval_callback=person)
    returns = run(toolset, [("write_file", {"path": "notes/a.txt", "content": "three\n"})])
    assert returns[0][2] == "denied" and "leave it" in returns[0][1]
    presentation = person.asked[0].presentation
    assert presentation is not None and presentation.type == "diff" and "three" in presentation.content
    assert (folder / "notes" / "a.txt").read_text() == "one two\n"


def test_call_with_invalid_args_goes_back_to_model(folder: Path) -> None:
    person = Person(yes())
    toolset: Any = FileToolset(folder / "askfirst.yaml", approval_callback=person)
    good = {"path": "notes/b.txt", "content": "new\n"}
    steps = [[("write_file", args)] for args in ({"path": "notes/b.txt"}, {**good, "content": 7}, good)]
    agent = Agent(scripted(*steps), toolsets=[toolset], retries=3)
    assert tool_returns(agent.run_sync("go").all_messages())[-1][2] == "success"
    assert [request.args for request in person.asked] == [good]


def test_model_learns_of_edited_write(folder: Path) -> None:
    person = Person(edit(path="notes/c.txt", content="edited\n"), yes(note="shorter"))
    toolset: Any = FileToolset(folder / "askfirst.yaml", approval_callback=person)
    agent = Agent(scripted([("write_file", {"path": "notes/c.txt", "content": "raw\n"})]), toolsets=[toolset])
    text = str(agent.run_sync("go").all_messages())
    assert "a person edited the arguments" in text and "wrote: shorter" in text


def test_unknown_tool_name_in_config_warns(tmp_path: Path) -> None:
    (tmp_path / "askfirst.yaml").write_text(CONFIG.replace("tools:", "tools:\n  wrod_count: { approval: deny }"))
    (tmp_path / "notes").mkdir()
    toolset: Any = FileToolset(tmp_path / "askfirst.yaml")
    with pytest.warns(UserWarning, match="`wrod_count`, but no toolset offers it; hint: did you mean `word_count`"):
        run(toolset, [("list_files", {"path": "notes"})])


def test_path_outside_roots_is_refused(folder: Path) -> None:
    toolset: Any = FileToolset(folder / "askfirst.yaml", ApprovalController(mode="approve_all"))
    assert run(toolset, [("read_file", {"path": "/etc/passwd"})])[0][2] == "denied"


def test_edited_write_is_written(folder: Path) -> None:
    person = Person(edit(path="notes/c.txt", content="edited\n"), yes())
    toolset: Any = FileToolset(folder / "askfirst.yaml", approval_callback=person)
    assert run(toolset, [("write_file", {"path": "notes/c.txt", "content": "raw\n"})])[0][2] == "success"
    assert (folder / "notes" / "c.txt").read_text() == "edited\n"


def test_shell_commands_are_judged_by_rules(folder: Path) -> None:
    person = Person(no("no"))
    toolset: Any = ShellToolset(folder / "askfirst.yaml", approval_callback=person)
    returns = run(
        toolset,
        [("shell", {"command": "echo hello"})],
        [("shell", {"command": "sudo ls"})],
        [("shell", {"command": "touch notes/x"})],
    )
    assert [outcome for _, _, outcome in returns] == ["success", "denied", "denied"]
    assert "hello" in str(returns[0][1]) and len(person.asked) == 1
    assert not (folder / "notes" / "x").exists()


def test_shell_without_config_section_is_not_offered(tmp_path: Path) -> None:
    (tmp_path / "askfirst.yaml").write_text("version: 1\n")
    assert offered(ShellToolset(tmp_path / "askfirst.yaml")) == set()
