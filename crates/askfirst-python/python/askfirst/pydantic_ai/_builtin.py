"""The tools of a config as PydanticAI toolsets.

The native half runs the file tools, the shell tool and the command tools. These classes offer and call them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

from pydantic_ai import RunContext, ToolDefinition, ToolFailed
from pydantic_ai.tools import AgentDepsT
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from .._arguments import Config, one_controller
from .._controller import ApprovalController
from .._driving import settle
from .._memory import ApprovalMemory
from .._session import Session, read_config
from ._context import has_siblings, metadata_of, tools_of_agent
from ._gather import gathering_of
from ._toolset import denial_of, with_notice

_ANY_ARGS = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))
_SHELL = frozenset({"shell", "exec"})


class ConfigToolset(AbstractToolset[AgentDepsT]):
    """All tools that a config offers: file tools, the shell tool and command tools.

    ``config`` is the path of an ``askfirst.yaml`` or a full config as a mapping. Without it, the config in force in
    this folder counts.
    """

    _kinds: ClassVar[Literal["all", "files", "shell"]] = "all"

    def __init__(
        self,
        config: Config | None = None,
        controller: ApprovalController | None = None,
        *,
        approval_callback: Callable[..., Any] | None = None,
        memory: ApprovalMemory | None = None,
        on_denial: Literal["return", "stop"] | None = None,
        ledger: Any = None,
        id: str | None = None,
    ) -> None:
        self._id = id
        self._controller = one_controller(controller, approval_callback, None, memory)
        self._session = Session(
            controller=self._controller,
            ledger=ledger,
            on_denial=on_denial,
            builtin_tools=True,
            _read=read_config(config),
        )
        self._gathering = gathering_of(self._controller)
        self._definitions = {each["name"]: each for each in self._session.definitions() if self._offers(each["name"])}

    @classmethod
    def _offers(cls, name: str) -> bool:
        return cls._kinds == "all" or (name in _SHELL) == (cls._kinds == "shell")

    @property
    def id(self) -> str | None:
        return self._id

    @property
    def controller(self) -> ApprovalController:
        """The controller: mode, memory and approver."""
        return self._controller

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        return {name: self._tool(ctx, definition) for name, definition in self._definitions.items()}

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> Any:
        """Return the tool's result, or the refusal for the model."""
        if name not in self._definitions:
            raise ToolFailed(f"this toolset has no tool `{name}`")
        if self._session._unchecked:
            self._session._check_tool_names(tools_of_agent(ctx))
        if has_siblings(ctx):
            metadata = metadata_of(ctx, batch=True)
            call = (name, tool_args, metadata, None)
            ticket = await self._gathering.submit(self._session, metadata["batch_id"], call)
        else:
            ticket = self._session.start(name, tool_args, metadata_of(ctx))
        await settle(ticket)
        outcome = ticket.outcome
        # A program that ended with an error also has a result.
        if outcome is not None and (outcome.kind == "done" or outcome.result is not None):
            return with_notice(outcome.result, ticket.notice)
        return denial_of(self._session, ticket)

    def may_run_unasked(self, name: str, args: Mapping[str, Any], ctx: RunContext[AgentDepsT] | None) -> bool:
        """Return whether the config allows a call without asking. Otherwise this toolset asks about it or refuses it."""
        return bool(self._session.decide(name, args, metadata_of(ctx))["verdict"] == "allow")

    def _tool(self, ctx: RunContext[AgentDepsT], definition: Mapping[str, Any]) -> ToolsetTool[AgentDepsT]:
        schema = definition.get("input_schema") or {"type": "object", "properties": {}}
        described = ToolDefinition(
            name=definition["name"],
            description=definition.get("description"),
            parameters_json_schema=dict(schema),
        )
        return ToolsetTool(toolset=self, tool_def=described, max_retries=ctx.max_retries, args_validator=_ANY_ARGS)


class FileToolset(ConfigToolset[AgentDepsT]):
    """The file tools of a config."""

    _kinds = "files"


class ShellToolset(ConfigToolset[AgentDepsT]):
    """The shell tool of a config. askfirst judges every line and runs it in the sandbox."""

    _kinds = "shell"
