"""The arguments of ``ApprovalToolset``: configs in every form, contradictions, deprecations, overrides."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from frameworks import Person, scripted, tool_returns, yes
from pydantic_ai import Agent
from pydantic_ai.toolsets import FunctionToolset

from askfirst import ApprovalController, ApprovalMemory, ConfigError
from askfirst.pydantic_ai import ApprovalHandler, ApprovalToolset


def get_time() -> str:
    return "noon"


def shell_exec(command: str) -> str:
    return f"ran {command}"


INNER: Any = FunctionToolset([get_time, shell_exec])


def outcome(gated: Any, name: str = "get_time", **args: Any) -> str:
    agent = Agent(scripted([(name, args)]), toolsets=[gated])
    return tool_returns(agent.run_sync("go").all_messages())[0][2]


def asked(**options: Any) -> list[str]:
    """Return which of the two tools ask with these options."""
    person = Person(each=lambda request: yes())
    gated: Any = ApprovalToolset(INNER, approval_callback=person, **options)
    outcome(gated)
    outcome(gated, "shell_exec", command="ls")
    return person.names


def test_tool_without_rule_and_view_asks() -> None:
    assert asked() == ["get_time", "shell_exec"]


def test_default_approval_applies_without_rule() -> None:
    assert asked(default_approval="none") == []
    gated: Any = ApprovalToolset(INNER, approval_callback=Person(), default_approval="deny")
    assert outcome(gated) == "denied"


def test_tool_entries_work_as_config_and_tool_configs() -> None:
    assert asked(config={"get_time": {"pre_approved": True}}) == ["shell_exec"]
    assert asked(tool_configs={"get_time": {"approval": "none"}}) == ["shell_exec"]
    assert asked(tool_configs={"get_time": {}}) == ["get_time", "shell_exec"]


def test_full_config_as_mapping_works() -> None:
    whole = {"version": 1, "default_approval": "none", "tools": {"get_time": {"approval": "required"}}}
    assert asked(config=whole) == ["get_time"]


def test_config_file_works(tmp_path: Path) -> None:
    file = tmp_path / "askfirst.yaml"
    file.write_text("version: 1\ntools:\n  get_time: { approval: none }\n  shell_exec: { approval: required }\n")
    assert asked(config=file) == ["shell_exec"]
    assert asked(config=str(file)) == ["shell_exec"]


def test_invalid_config_file_raises_with_line(tmp_path: Path) -> None:
    file = tmp_path / "askfirst.yaml"
    file.write_text("version: 1\ntools:\n  get_time: { aproval: none }\n")
    with pytest.raises(ValueError, match=r"askfirst\.yaml:3"):
        ApprovalToolset(INNER, config=file)


def test_pre_approved_warns_and_becomes_none() -> None:
    with pytest.warns(DeprecationWarning, match="pre_approved"):
        assert asked(pre_approved=["get_time"]) == ["shell_exec"]


def test_deprecation_warning_names_line_of_caller() -> None:
    with pytest.warns(DeprecationWarning) as caught:
        ApprovalToolset(INNER, pre_approved=["get_time"])
    assert caught[0].filename == __file__


def test_stricter_tool_configs_override_pre_approved() -> None:
    with pytest.warns(DeprecationWarning):
        configs = {"get_time": {"approval": "required"}, "shell_exec": {}}
        assert asked(pre_approved=["get_time", "shell_exec"], tool_configs=configs) == ["get_time"]


def test_given_entries_are_not_changed() -> None:
    entries: dict[str, dict[str, Any]] = {"shell_exec": {}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ApprovalToolset(INNER, tool_configs=entries, pre_approved=["get_time", "shell_exec"])
    assert entries == {"shell_exec": {}}


def test_config_is_public_and_read_only() -> None:
    gated: Any = ApprovalToolset(INNER, config={"get_time": {"pre_approved": True, "options": {"colour": "red"}}})
    assert gated.config["get_time"]["options"]["colour"] == "red"
    with pytest.raises(TypeError):
        gated.config["get_time"] = {}
    with pytest.raises(AttributeError):
        gated.config = {}


@pytest.mark.parametrize("name", ["tool_configs", "config"])
def test_misspelled_key_is_config_error_with_suggestion(name: str) -> None:
    with pytest.raises(ConfigError, match="unknown key `aproval` in `tools.get_time`\\nhint: did you mean `approval`"):
        ApprovalToolset(INNER, **{name: {"get_time": {"aproval": "deny"}}})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="did you mean `exclude_keys`"):
        Shell(INNER, **{name: {"get_time": {"exclude_key": ["a"]}}})  # type: ignore[arg-type]


def test_unknown_key_without_override_is_config_error() -> None:
    with pytest.raises(ConfigError, match="unknown key `safe_commands` in `tools.shell_exec`"):
        ApprovalToolset(INNER, config=ENTRIES)
    assert Shell(INNER, config=ENTRIES).config == ENTRIES


def test_unknown_key_is_for_needs_approval_of_inner_toolset() -> None:
    class Speaking(FunctionToolset[Any]):
        def needs_approval(self, name: str, args: dict[str, Any], ctx: Any, config: Any) -> bool:
            return args.get("command") not in config["shell_exec"]["safe_commands"]

    person = Person(each=lambda request: yes())
    for inner in (Speaking([shell_exec]), Speaking([shell_exec]).filtered(lambda ctx, tool: True)):
        gated: Any = ApprovalToolset(inner, approval_callback=person, config=ENTRIES)
        assert outcome(gated, "shell_exec", command="ls") == "success" and person.asked == []


def test_unknown_tool_name_warns_once_with_suggestion() -> None:
    configs = {"get_tiem": {"approval": "deny"}, "get_*": {"approval": "none"}, "shell_exec": {}}
    gated: Any = ApprovalToolset(INNER, approval_callback=Person(), tool_configs=configs)
    with pytest.warns(UserWarning, match="`get_tiem`, but no toolset offers it; hint: did you mean `get_time`") as caught:
        outcome(gated)
        outcome(gated)
    assert len(caught) == 1


def test_unknown_tool_name_in_config_file_warns(tmp_path: Path) -> None:
    file = tmp_path / "askfirst.yaml"
    file.write_text("version: 1\ntools: { get_tiem: { approval: deny } }\n")
    with pytest.warns(UserWarning, match="`get_tiem`, but no toolset offers it; hint: did you mean `get_time`"):
        outcome(ApprovalToolset(INNER, approval_callback=Person(), config=file))


def test_tool_name_of_another_toolset_does_not_warn() -> None:
    configs: Any = {"get_time": {"approval": "none"}, "shell_exec": {"approval": "none"}}
    toolsets: Any = [ApprovalToolset(FunctionToolset([tool]), tool_configs=configs) for tool in (get_time, shell_exec)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agent = Agent(scripted([("get_time", {}), ("shell_exec", {"command": "ls"})]), toolsets=toolsets)
        assert agent.run_sync("go").output == "done"


CALLBACK = Person()


@pytest.mark.parametrize(
    "options",
    [
        {"controller": ApprovalController(mode="strict"), "approval_callback": CALLBACK},
        {"controller": ApprovalController(mode="strict"), "prompt_fn": CALLBACK},
        {"controller": ApprovalController(mode="strict"), "memory": ApprovalMemory()},
        {"approval_callback": CALLBACK, "prompt_fn": Person()},
        {"config": {"a": {}}, "tool_configs": {"b": {}}},
        {"config": {"version": 1, "default_approval": "none"}, "default_approval": "deny"},
        {"default_approval": "sometimes"},
    ],
    ids=str,
)
def test_contradicting_arguments_raise(options: Any) -> None:
    with pytest.raises(ConfigError):
        ApprovalToolset(INNER, **options)


def test_pre_approved_with_config_file_raises(tmp_path: Path) -> None:
    file = tmp_path / "askfirst.yaml"
    file.write_text("version: 1\n")
    with pytest.raises(ConfigError), pytest.warns(DeprecationWarning):
        ApprovalToolset(INNER, config=file, pre_approved=["get_time"])
    with pytest.raises(ConfigError):
        ApprovalToolset(INNER, config=file, default_approval="none")


@pytest.mark.parametrize(
    "options",
    [
        {"controller": "interactive"},
        {"approval_callback": 7},
        {"memory": {}},
        {"config": 7},
        {"tool_configs": ["get_time"]},
        {"tool_configs": {"get_time": "none"}},
        {"approval_func": True},
        {"pre_approved": "get_time"},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_arguments_of_wrong_type_raise(options: Any) -> None:
    with pytest.raises(TypeError):
        ApprovalToolset(INNER, **options)


def test_value_that_is_not_toolset_raises() -> None:
    with pytest.raises(TypeError, match="must be a toolset"):
        ApprovalToolset([get_time])  # type: ignore[arg-type]


def test_handler_refuses_contradicting_arguments() -> None:
    with pytest.raises(ConfigError):
        ApprovalHandler(ApprovalController(mode="strict"), approval_callback=CALLBACK)


class Shell(ApprovalToolset[Any]):
    """An override that allows commands by prefix, and asks about dangerous patterns."""

    def needs_approval(self, name: str, args: dict[str, Any]) -> bool | dict[str, Any]:
        entry = self.config.get(name, {})
        if entry.get("pre_approved"):
            return False
        if name != "shell_exec":
            return super().needs_approval(name, args)
        command = args.get("command", "")
        if command.split()[0] == "format":
            raise PermissionError("never")
        for pattern in entry.get("dangerous_patterns", []):
            if re.search(pattern, command):
                return {"description": f"Dangerous command: {command}"}
        return command.split()[0] not in entry.get("safe_commands", [])


ENTRIES = {"shell_exec": {"safe_commands": ["ls", "echo"], "dangerous_patterns": [r"[|>]"]}}


def described(command: str, **options: Any) -> tuple[str, list[str]]:
    person = Person(each=lambda request: yes())
    result = outcome(Shell(INNER, approval_callback=person, config=ENTRIES, **options), "shell_exec", command=command)
    return result, [request.description for request in person.asked]


def test_override_decides_in_toolset() -> None:
    assert described("ls -la") == ("success", [])
    assert described("echo x > y") == ("success", ["Dangerous command: echo x > y"])
    result, asked = described("make")
    assert result == "success" and len(asked) == 1
    assert described("format c")[0] == "denied"


def test_override_may_call_super() -> None:
    person = Person(each=lambda request: yes())
    gated = Shell(INNER, approval_callback=person, tool_configs={"get_time": {"approval": "none"}})
    assert outcome(gated) == "success" and person.asked == []
    gated = Shell(INNER, approval_callback=person, tool_configs={"get_time": {"approval": "required"}})
    assert outcome(gated) == "success" and person.names == ["get_time"]


def test_override_cannot_allow_config_deny() -> None:
    entries = {"shell_exec": {"approval": "deny", "safe_commands": ["ls"]}}
    gated = Shell(INNER, ApprovalController(mode="approve_all"), config=entries)
    assert outcome(gated, "shell_exec", command="ls") == "denied"


def test_override_cannot_allow_tool_block() -> None:
    def wipe() -> str:
        return "wiped"

    def check(ctx: Any) -> None:
        raise PermissionError("the disk is mounted")

    wipe.check_approval = check  # type: ignore[attr-defined]

    class Lax(ApprovalToolset[Any]):
        def needs_approval(self, name: str, args: dict[str, Any]) -> bool:
            return False

    assert outcome(Lax(FunctionToolset([wipe]), ApprovalController(mode="approve_all")), "wipe") == "denied"


class ByRole(ApprovalToolset[Any]):
    """An override that reads the dependencies of the run."""

    def needs_approval(self, name: str, args: dict[str, Any], ctx: Any = None) -> bool | dict[str, Any]:
        if ctx is None or ctx.deps is None:
            return super().needs_approval(name, args)
        return ctx.deps["role"] != "admin" and {"description": f"{name} for {ctx.deps['role']}"}


@pytest.mark.parametrize("calls", [1, 2], ids=["alone", "in a group"])
def test_override_gets_run_context(calls: int) -> None:
    person = Person(each=lambda request: yes())
    gated = ByRole(INNER, approval_callback=person)
    for role, asked in (("admin", []), ("guest", ["shell_exec for guest"] * calls)):
        steps = [("shell_exec", {"command": str(n)}) for n in range(calls)]
        Agent(scripted(steps), toolsets=[gated], deps_type=dict).run_sync("go", deps={"role": role})
        assert [request.description for request in person.asked] == asked
    assert gated.needs_approval("get_time", {}) and gated._contexts == {}


def test_override_gets_run_context_for_edited_call() -> None:
    def answer(request: Any) -> Any:
        return yes() if request.args["command"] == "b" else yes(edited_args={"command": "b"})

    seen: list[Any] = []

    class Seeing(ApprovalToolset[Any]):
        def needs_approval(self, name: str, args: dict[str, Any], ctx: Any = None) -> bool:
            seen.append((args["command"], ctx.deps))
            return True

    gated = Seeing(INNER, approval_callback=answer)
    agent = Agent(scripted([("shell_exec", {"command": "a"})]), toolsets=[gated], deps_type=str)
    agent.run_sync("go", deps="d")
    assert seen == [("a", "d"), ("b", "d")]


@pytest.mark.parametrize("answer", ["yes", 0, 1, [], object()], ids=repr)
def test_override_with_invalid_answer_denies(answer: Any) -> None:
    class Odd(ApprovalToolset[Any]):
        def needs_approval(self, name: str, args: dict[str, Any]) -> Any:
            return answer

    assert outcome(Odd(INNER, ApprovalController(mode="approve_all"))) == "denied"


def test_needs_approval_can_be_called_directly() -> None:
    gated: Any = ApprovalToolset(
        INNER, approval_callback=Person(), tool_configs={"get_time": {"approval": "none"}, "x": {"approval": "deny"}}
    )
    assert gated.needs_approval("get_time", {}) is False
    assert gated.needs_approval("shell_exec", {"command": "ls"})
    with pytest.raises(PermissionError):
        gated.needs_approval("x", {})
