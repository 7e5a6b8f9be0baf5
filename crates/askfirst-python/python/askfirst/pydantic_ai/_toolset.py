"""The toolset that asks before its tools run.

It wraps any PydanticAI toolset without changing it, and forwards all its members. Only ``call_tool`` differs: the
session's pipeline decides about each call.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextvars import Token
from typing import Any, Literal

from pydantic_ai import ApprovalRequired, ModelRetry, RunContext, ToolDefinition, ToolDenied, ToolFailed, ToolReturn
from pydantic_ai.tools import AgentDepsT
from pydantic_ai.toolsets import AbstractToolset, ApprovalRequiredToolset, ToolsetTool, WrapperToolset
from pydantic_core import ValidationError

from .. import _assess, _views
from .._arguments import Config, one_config, one_controller
from .._controller import ApprovalController
from .._driving import around, not_recorded, refusal, settle
from .._memory import ApprovalMemory
from .._outcome import ApprovalBlocked
from .._outcome import ToolFailed as CallFailed
from .._session import Session
from .._session import _running as running
from .._types import ApprovalRequest
from ._around import AroundToolset
from ._context import (
    call_key,
    chain_of,
    definition_of_server,
    function_of,
    has_siblings,
    is_silent,
    metadata_of,
    tools_of_agent,
)
from ._gather import gathering_of

ApprovalFunc = Callable[[RunContext[Any], ToolDefinition, dict[str, Any]], "bool | ApprovalRequest | None"]
ApprovalCallback = Callable[..., Any]


class ApprovalToolset(AroundToolset[AgentDepsT]):
    """A toolset whose calls go through askfirst.

    ``controller`` answers requests, or else ``approval_callback`` (alias ``prompt_fn``) with an optional ``memory``.
    Without any of them, askfirst asks at the terminal. ``config`` is the path of an ``askfirst.yaml``, a full config as
    a mapping, or entries by tool name. ``tool_configs`` are entries by tool name. ``approval_func`` assesses calls in
    PydanticAI's form. ``default_approval`` applies to tools that neither the config nor an assessment covers.

    Override ``needs_approval(name, args)`` to decide in code; a third parameter gets the run context. An override
    cannot allow a call that the tool blocks or the config denies.
    """

    def __init__(
        self,
        inner: AbstractToolset[AgentDepsT],
        controller: ApprovalController | None = None,
        *,
        approval_callback: ApprovalCallback | None = None,
        prompt_fn: ApprovalCallback | None = None,
        memory: ApprovalMemory | None = None,
        config: Config | None = None,
        tool_configs: Mapping[str, Mapping[str, Any]] | None = None,
        pre_approved: Sequence[str] | None = None,
        approval_func: ApprovalFunc | None = None,
        default_approval: str = "required",
        on_denial: Literal["return", "stop"] | None = None,
        ledger: Any = None,
    ) -> None:
        if not isinstance(inner, AbstractToolset):
            raise TypeError(f"`inner` must be a toolset, not {type(inner).__name__}")
        if approval_func is not None and not callable(approval_func):
            raise TypeError(f"`approval_func` must be callable, not {type(approval_func).__name__}")
        super().__init__(inner)
        self._controller = one_controller(controller, approval_callback, prompt_fn, memory)
        self._given, self._config = one_config(config, tool_configs, pre_approved, default_approval)
        self._approval_func = approval_func
        overridden = type(self).needs_approval is not ApprovalToolset.needs_approval
        # A bound method would keep this toolset alive forever, because the collector cannot see into the pipeline.
        override = _overriding(weakref.ref(self)) if overridden else None
        self._override_takes_context = overridden and _views.count_parameters(self.needs_approval) > 2
        self._session = Session(
            self._given,
            controller=self._controller,
            override=override,
            ledger=ledger,
            on_denial=on_denial,
            _override_keys=_reads_entries(inner),
            _metadata_of=metadata_of,
        )
        self._start = self._session.start_in
        self._plain = None if overridden else self._session
        self._gathering = gathering_of(self._controller)
        self._marked: set[str] = set()
        self._offered: set[str] = set()
        self._unchecked = self._session._unchecked
        self._contexts: dict[tuple[Any, Any], Any] = {}
        self._root: ApprovalToolset[AgentDepsT] | None = None

    @property
    def controller(self) -> ApprovalController:
        """The controller: mode, memory and approver."""
        return self._controller

    @property
    def memory(self) -> ApprovalMemory:
        """The decisions that are remembered."""
        return self._controller.memory

    @property
    def config(self) -> Mapping[str, Mapping[str, Any]]:
        """The tool entries as the caller wrote them. They are read-only, because they were read at the start."""
        return self._config

    def needs_approval(self, name: str, args: dict[str, Any]) -> bool | dict[str, Any]:
        """Return whether to ask about a call: ``False``, ``True``, or a mapping that describes the request.

        This version uses config and tool; an override may call it with ``super()``. It raises ``ApprovalBlocked`` (a
        ``PermissionError``) for a call that is denied.
        """
        if self._plain is None:
            self._plain = Session(self._given, controller=self._controller, ledger=False, _override_keys=True)
        verdict = self._plain.decide(name, args, None, self._view(name, None, None))
        if verdict["verdict"] == "allow":
            return False
        if verdict["verdict"] == "deny":
            raise ApprovalBlocked(verdict["message"], tool_name=name, cause="policy")
        request = verdict["request"]
        return {"description": request["description"], "payload": request["payload"]}

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """Return the inner tools. askfirst asks about those that PydanticAI would defer for approval."""
        tools = await self.wrapped.get_tools(ctx)
        self._offered.update(tools)
        for name, tool in tools.items():
            tool_def = getattr(tool, "tool_def", None)
            if tool_def is None:
                continue
            if (definition := definition_of_server(tool_def)) is not None:
                self._session.define(definition)
            if tool_def.kind == "unapproved":
                self._marked.add(name)
                tools[name] = dataclasses.replace(tool, tool_def=dataclasses.replace(tool_def, kind="function"))
        return tools

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[AgentDepsT],
        tool: ToolsetTool[AgentDepsT],
        *,
        _view: _views.View | None = None,
    ) -> Any:
        """Run the inner tool if the call is permitted. Return its result, or the refusal for the model."""
        # The dict is faster than attributes here, because `__getattr__` slows them down.
        args, view, own = tool_args, _view, self.__dict__
        inner: tuple[Any, str] | None = None
        wrapped = own["wrapped"]
        if own["_unchecked"]:
            self._session._check_tool_names(own["_offered"] | tools_of_agent(ctx))
        if view is None and (own["_marked"] or own["_approval_func"] is not None or not is_silent(wrapped, tool)):
            view = self._view(name, ctx, tool)
            inner = self._asking_toolset(name, tool)
        if own["_override_takes_context"] and ctx is not None:
            own["_contexts"][ctx.run_id, ctx.tool_call_id] = ctx
        outer = around.get()
        key = None if outer is None else call_key(ctx)
        try:
            is_alone = False
            if inner is not None:
                # A toolset inside asks about the call itself, and shows more. This one asks only if that one does not.
                verdict = self._session.decide(name, args, metadata_of(ctx), view)["verdict"]
                if verdict == "ask" and not inner[0].may_run_unasked(inner[1], args, ctx):
                    return await wrapped.call_tool(name, args, _approved(ctx), tool)
                is_alone = verdict == "allow"
            if outer is not None and outer[0] == key:
                # A toolset around this one has asked about the same call.
                ticket = own["_start"](name, args, ctx, view, outer[1].approval)
            elif not is_alone and ctx is not None and ctx.messages and has_siblings(ctx):
                metadata = metadata_of(ctx, batch=True)
                ticket = await self._gathering.submit(self._session, metadata["batch_id"], (name, args, metadata, view))
            else:
                ticket = own["_start"](name, args, ctx, view)
            state = ticket.state
            was_open = state == "wait"
            if was_open:
                state = await settle(ticket)
        finally:
            if own["_contexts"]:
                own["_contexts"].pop((ctx.run_id, ctx.tool_call_id), None)
        if state != "run":
            return denial_of(self._session, ticket)
        notice = around_token = None
        token = running.set(ticket)
        try:
            if was_open or ticket.by_person:
                notice = ticket.notice
                if (key := call_key(ctx)) is not None:
                    around_token = around.set((key, ticket))
                ctx = _approved(ctx)
                if ticket.edited:
                    args = _valid(tool, ticket.args, ctx)
            result = await wrapped.call_tool(name, args, ctx, tool)
        except ApprovalRequired as required:
            # The tool ran without approval, and now asks for it.
            ticket.finish(error=required)
            if not _unapproved(ctx):
                raise
            asking = view_of_required(required.metadata)
        except BaseException as error:
            ticket.finish(error=error)
            raise
        else:
            if ticket.finish(result) != "done":
                raise not_recorded(ticket)
            return result if notice is None else with_notice(result, notice)
        finally:
            if around_token is not None:
                around.reset(around_token)
            if token.old_value is Token.MISSING:
                running.set(None)  # Faster the next time than a reset to no value, with the same meaning.
            else:
                running.reset(token)
        ctx = dataclasses.replace(ctx, tool_call_approved=True)
        # Not the override of a subclass, which has already run.
        again: Any = ApprovalToolset.call_tool
        return await again(self, name, args, ctx, tool, _view=asking)

    def _view(self, name: str, ctx: Any, tool: Any) -> _views.View | None:
        """Combine the views of the inner toolsets, the function and ``approval_func``, or ``None`` without any."""
        views: list[_views.View] = []
        tool_def = getattr(tool, "tool_def", None)
        if self._approval_func is not None:
            views.append(_by_function(self._approval_func, ctx, tool_def))
        for toolset, inner_name in chain_of(self.wrapped, name, tool):
            views.extend(self._of_toolset(toolset, inner_name, ctx, tool_def))
        of_function = _assess.of(function_of(tool), self.memory, run_context=ctx, tool_def=tool_def)
        if of_function is not None:
            views.append(of_function)
        if name in self._marked:
            views.append(lambda _name, _args, _metadata: True)
        return _views.strictest(views)

    def _of_toolset(self, toolset: Any, name: str, ctx: Any, tool_def: Any) -> list[_views.View]:
        views: list[_views.View] = []
        if isinstance(toolset, ApprovalToolset):
            return views
        if self._asks_itself(toolset):
            views.append(lambda _name, _args, _metadata: False)
            return views
        if isinstance(toolset, ApprovalRequiredToolset):
            views.append(_by_function(toolset.approval_required_func, ctx, tool_def))
        checked = _assess.of(toolset, self.memory, run_context=ctx, tool_def=tool_def)
        if checked is not None:
            views.append(_views.named(checked, name))
        if (needs := getattr(toolset, "needs_approval", None)) is not None:
            views.append(_views.needs(needs, name, ctx, self._config))
        return views

    def _asks_itself(self, toolset: Any) -> bool:
        """Return whether a toolset with tools of a config asks the same person as this one."""
        return hasattr(type(toolset), "may_run_unasked") and toolset.controller is self._controller

    def _asking_toolset(self, name: str, tool: Any) -> tuple[Any, str] | None:
        """Return the toolset that owns a tool and its name there, if that toolset asks about its calls itself."""
        chain = chain_of(self.wrapped, name, tool)
        return chain[-1] if chain and self._asks_itself(chain[-1][0]) else None

    def _around(self, wrapped: AbstractToolset[AgentDepsT]) -> AbstractToolset[AgentDepsT]:
        other = super()._around(wrapped)
        if isinstance(other, ApprovalToolset) and other is not self:
            other._root = self._root if self._root is not None else self
        return other


def denial_of(session: Session, ticket: Any) -> ToolDenied:
    """Return the refusal of a call for the model, or raise it if it ends the run."""
    outcome = ticket.outcome
    if outcome is not None and outcome.error == "bad_args":
        # The model made the call wrong, so it may try again. No one was asked.
        raise ModelRetry(outcome.text)
    try:
        return ToolDenied(str(refusal(session, ticket)))
    except CallFailed as error:
        raise ToolFailed(str(error)) from error


def with_notice(result: Any, notice: str | None) -> Any:
    """Return the result of a tool with a text for the model, such as the note of the person who approved the call."""
    if notice is None:
        return result
    if not isinstance(result, ToolReturn):
        return ToolReturn(return_value=result, content=notice)
    given = result.content
    content = [] if given is None else [given] if isinstance(given, str) else list(given)
    return dataclasses.replace(result, content=[*content, notice])


def _overriding(toolset: weakref.ref[ApprovalToolset[Any]]) -> Callable[..., Any]:
    def override(name: str, args: dict[str, Any], metadata: dict[str, Any], _entry: Any) -> Any:
        alive = toolset()
        if alive is None:
            raise PermissionError("the toolset no longer exists")
        needs: Any = alive.needs_approval
        if not alive._override_takes_context:
            return _assess.view(needs(name, args), name, args)
        ctx = alive._contexts.get((metadata.get("run_id"), metadata.get("tool_call_id")))
        return _assess.view(needs(name, args, ctx), name, args)

    return override


def _reads_entries(toolset: AbstractToolset[Any]) -> bool:
    """Return whether an inner toolset has a ``needs_approval``, which gets the entries of the tools."""
    found: list[bool] = []
    while isinstance(toolset, WrapperToolset):
        found.append(not isinstance(toolset, ApprovalToolset) and hasattr(type(toolset), "needs_approval"))
        toolset = toolset.wrapped
    toolset.apply(lambda leaf: found.append(hasattr(leaf, "needs_approval")))
    return any(found)


def _by_function(func: Callable[..., Any], ctx: Any, tool_def: Any) -> _views.View:
    return lambda name, args, _metadata: _assess.view(func(ctx, tool_def, args), name, args)


def _unapproved(ctx: Any) -> bool:
    return ctx is not None and not ctx.tool_call_approved


def _approved(ctx: Any) -> Any:
    return dataclasses.replace(ctx, tool_call_approved=True) if _unapproved(ctx) else ctx


def view_of_required(metadata: Mapping[str, Any] | None) -> _views.View:
    """Return the view of a tool that raised ``ApprovalRequired`` with this metadata."""
    known = {key: (metadata or {}).get(key) for key in ("description", "payload")}
    said = {key: value for key, value in known.items() if value is not None}
    return lambda name, args, _metadata: _assess.view(said or True, name, args)


def _valid(tool: Any, args: dict[str, Any], ctx: Any) -> dict[str, Any]:
    """Validate edited arguments. A mistake of the person is a failure of the tool, not a retry for the model."""
    try:
        context = getattr(ctx, "validation_context", None)
        valid: dict[str, Any] = tool.args_validator.validate_python(args, context=context)
        return valid
    except ValidationError as error:
        why = error.errors()[0]["msg"]
        raise ToolFailed(f"a person edited the arguments, but they do not fit the tool: {why}") from error
