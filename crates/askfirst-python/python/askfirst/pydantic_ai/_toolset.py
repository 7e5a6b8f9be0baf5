"""The toolset that asks first.

It wraps any PydanticAI toolset without changing it: every member of the inner toolset is forwarded, its context is
entered, and only ``call_tool`` is looked at. What decides is the session's one pipeline; nothing here allows a call.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextvars import Token
from typing import Any, Literal

from pydantic_ai import ApprovalRequired, RunContext, ToolDefinition, ToolDenied, ToolFailed
from pydantic_ai.tools import AgentDepsT
from pydantic_ai.toolsets import AbstractToolset, ApprovalRequiredToolset, ToolsetTool
from pydantic_core import ValidationError

from .. import _assess, _views
from .._arguments import Config, one_config, one_controller
from .._controller import ApprovalController
from .._driving import not_recorded, refusal, settle
from .._memory import ApprovalMemory
from .._outcome import ApprovalBlocked
from .._outcome import ToolFailed as CallFailed
from .._session import Session
from .._session import _running as running
from .._types import ApprovalRequest
from ._around import AroundToolset
from ._context import chain_of, definition_of_server, function_of, has_siblings, is_silent, metadata_of
from ._gather import gathering_of

ApprovalFunc = Callable[[RunContext[Any], ToolDefinition, dict[str, Any]], "bool | ApprovalRequest | None"]
ApprovalCallback = Callable[..., Any]


class ApprovalToolset(AroundToolset[AgentDepsT]):
    """A toolset whose calls are decided about before they run.

    ``controller``, or ``approval_callback`` (also called ``prompt_fn``) with an optional ``memory``, says who answers;
    without any of them the question is asked at the terminal. ``config`` is the path of an ``askfirst.yaml``, a whole
    config as a mapping, or entries by tool name; ``tool_configs`` are entries by tool name. ``approval_func`` is a view
    in PydanticAI's own form. Tools that nobody speaks for need what ``default_approval`` says.

    Override ``needs_approval`` to decide by code. What the tool itself blocks, and what the config denies, no override
    lifts.
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
            raise TypeError(f"`inner` is {type(inner).__name__}, not a toolset")
        if approval_func is not None and not callable(approval_func):
            raise TypeError(f"`approval_func` is {type(approval_func).__name__}, which cannot be called")
        super().__init__(inner)
        self._controller = one_controller(controller, approval_callback, prompt_fn, memory)
        self._given, self._config = one_config(config, tool_configs, pre_approved, default_approval)
        self._approval_func = approval_func
        overridden = type(self).needs_approval is not ApprovalToolset.needs_approval
        # A bound method would keep this alive for ever: the native half is no place where cycles are found.
        override = _overriding(weakref.ref(self)) if overridden else None
        self._session = Session(
            self._given,
            controller=self._controller,
            override=override,
            ledger=ledger,
            on_denial=on_denial,
            _metadata_of=metadata_of,
        )
        self._start = self._session.start_in
        self._plain = None if overridden else self._session
        self._gathering = gathering_of(self._controller)
        self._marked: set[str] = set()
        self._root: ApprovalToolset[AgentDepsT] | None = None

    @property
    def controller(self) -> ApprovalController:
        """Who decides what must be asked about, with which memory."""
        return self._controller

    @property
    def memory(self) -> ApprovalMemory:
        """What is remembered."""
        return self._controller.memory

    @property
    def config(self) -> Mapping[str, Mapping[str, Any]]:
        """The entries of the tools as they were given, read-only: they were judged by when this was made."""
        return self._config

    def needs_approval(self, name: str, args: dict[str, Any]) -> bool | dict[str, Any]:
        """Whether a call must be asked about: ``False``, ``True``, or a mapping that describes the request.

        Here it is what config and tool say. An override may call it with ``super()``. It raises ``ApprovalBlocked``
        (a ``PermissionError``) for what may never run.
        """
        if self._plain is None:
            self._plain = Session(self._given, controller=self._controller)
        verdict = self._plain.decide(name, args, None, self._view(name, None, None))
        if verdict["verdict"] == "allow":
            return False
        if verdict["verdict"] == "deny":
            raise ApprovalBlocked(verdict["message"], tool_name=name, cause="policy")
        request = verdict["request"]
        return {"description": request["description"], "payload": request["payload"]}

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """The inner tools. Those that PydanticAI would defer for approval are asked about here instead."""
        tools = await self.wrapped.get_tools(ctx)
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
        """Runs the inner tool if it is permitted; a denial is what the model gets to read."""
        # By the dict: a class that forwards what it lacks is slow to find what it has.
        args, view, own = tool_args, _view, self.__dict__
        wrapped = own["wrapped"]
        if view is None and (own["_marked"] or own["_approval_func"] is not None or not is_silent(wrapped, tool)):
            view = self._view(name, ctx, tool)
        if ctx is not None and ctx.messages and has_siblings(ctx):
            metadata = metadata_of(ctx, batch=True)
            ticket = await self._gathering.submit(self._session, metadata["batch_id"], (name, args, metadata, view))
        else:
            ticket = own["_start"](name, args, ctx, view)
        state, edited = ticket.state, False
        if state != "run":
            if state == "wait":
                state = await settle(ticket)
                if _unapproved(ctx):
                    ctx = dataclasses.replace(ctx, tool_call_approved=True)
            if state != "run":
                return told(self._session, ticket)
            edited = ticket.edited
        token = running.set(ticket)
        try:
            if edited:
                args = _valid(tool, ticket.args, ctx)
            result = await wrapped.call_tool(name, args, ctx, tool)
        except ApprovalRequired as required:
            # It ran without a question, and now says that it needs one.
            ticket.finish(error=required)
            if not _unapproved(ctx):
                raise
            asking = asks_by_itself(required.metadata)
        except BaseException as error:
            ticket.finish(error=error)
            raise
        else:
            if ticket.finish(result) != "done":
                raise not_recorded(ticket)
            return result
        finally:
            if token.old_value is Token.MISSING:
                running.set(None)  # Which says the same and, unlike nothing at all, costs little next time.
            else:
                running.reset(token)
        ctx = dataclasses.replace(ctx, tool_call_approved=True)
        # By its class: a subclass that has its own was here already.
        again: Any = ApprovalToolset.call_tool
        return await again(self, name, args, ctx, tool, _view=asking)

    def _view(self, name: str, ctx: Any, tool: Any) -> _views.View | None:
        """What the inner toolsets, the function and ``approval_func`` say about a call, or ``None`` if nobody does."""
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
        if isinstance(toolset, ApprovalRequiredToolset):
            views.append(_by_function(toolset.approval_required_func, ctx, tool_def))
        checked = _assess.of(toolset, self.memory, run_context=ctx, tool_def=tool_def)
        if checked is not None:
            views.append(_views.named(checked, name))
        if (needs := getattr(toolset, "needs_approval", None)) is not None:
            views.append(_views.needs(needs, name, ctx, self._config))
        return views

    def _around(self, wrapped: AbstractToolset[AgentDepsT]) -> AbstractToolset[AgentDepsT]:
        other = super()._around(wrapped)
        if isinstance(other, ApprovalToolset) and other is not self:
            other._root = self._root if self._root is not None else self
        return other


def told(session: Session, ticket: Any) -> ToolDenied:
    """What the model reads about a call that did not run, or the exception where a no is to end the run."""
    try:
        return ToolDenied(str(refusal(session, ticket)))
    except CallFailed as error:
        raise ToolFailed(str(error)) from error


def _overriding(toolset: weakref.ref[ApprovalToolset[Any]]) -> Callable[..., Any]:
    def override(name: str, args: dict[str, Any], _metadata: Any, _entry: Any) -> Any:
        alive = toolset()
        if alive is None:
            raise PermissionError("the toolset that decides is gone")
        return _assess.view(alive.needs_approval(name, args), name, args)

    return override


def _by_function(func: Callable[..., Any], ctx: Any, tool_def: Any) -> _views.View:
    return lambda name, args, _metadata: _assess.view(func(ctx, tool_def, args), name, args)


def _unapproved(ctx: Any) -> bool:
    return ctx is not None and not ctx.tool_call_approved


def asks_by_itself(metadata: Mapping[str, Any] | None) -> _views.View:
    """The view of a tool that raised ``ApprovalRequired``: ask, with what it told."""
    known = {key: (metadata or {}).get(key) for key in ("description", "payload")}
    said = {key: value for key, value in known.items() if value is not None}
    return lambda name, args, _metadata: _assess.view(said or True, name, args)


def _valid(tool: Any, args: dict[str, Any], ctx: Any) -> dict[str, Any]:
    """Edited arguments as the tool takes them. A person's slip is told to the model as a failure, not as its own."""
    try:
        context = getattr(ctx, "validation_context", None)
        valid: dict[str, Any] = tool.args_validator.validate_python(args, context=context)
        return valid
    except ValidationError as error:
        why = error.errors()[0]["msg"]
        raise ToolFailed(f"the arguments that a person put in do not fit the tool: {why}") from error
