"""The capability that answers the calls that PydanticAI defers for approval.

PydanticAI defers tools with ``requires_approval=True``, toolsets with ``.approval_required()`` and tools that raise
``ApprovalRequired``. The handler submits all such calls of a response together, so that a person sees one dialog. One
handler may serve several agents, including agents inside each other's tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic_ai import (
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    ToolApproved,
    ToolDefinition,
    ToolDenied,
)
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import AgentDepsT

from .. import _assess, _views
from .._arguments import Config, one_config, one_controller
from .._controller import ApprovalController
from .._driving import finish, run, settle
from .._memory import ApprovalMemory
from .._session import Session
from ._context import batch_id, call_key, function_of, metadata_of, tools_of_agent
from ._toolset import denial_of, with_notice


class ApprovalHandler(AbstractCapability[AgentDepsT]):
    """Asks about the calls that PydanticAI defers for approval, and continues the run.

        >>> from pydantic_ai import Agent
        >>> from pydantic_ai.models.test import TestModel
        >>> from askfirst import ApprovalDecision
        >>> from askfirst.pydantic_ai import ApprovalHandler
        >>> handler = ApprovalHandler(approval_callback=lambda request: ApprovalDecision(approved=True))
        >>> agent = Agent(TestModel(), capabilities=[handler])
        >>> @agent.tool_plain(requires_approval=True)
        ... def send(to: str) -> str:
        ...     return f"sent to {to}"
        >>> "sent to" in agent.run_sync("write to ada").output
        True
    """

    def __init__(
        self,
        controller: ApprovalController | None = None,
        *,
        approval_callback: Callable[..., Any] | None = None,
        prompt_fn: Callable[..., Any] | None = None,
        memory: ApprovalMemory | None = None,
        config: Config | None = None,
        tool_configs: Mapping[str, Mapping[str, Any]] | None = None,
        default_approval: str = "required",
        on_denial: Literal["return", "stop"] | None = None,
        ledger: Any = None,
    ) -> None:
        self._controller = one_controller(controller, approval_callback, prompt_fn, memory)
        given, _ = one_config(config, tool_configs, None, default_approval)
        self._session = Session(given, controller=self._controller, ledger=ledger, on_denial=on_denial)
        self._permitted: dict[tuple[str | None, str], Any] = {}

    @property
    def controller(self) -> ApprovalController:
        """The controller: mode, memory and approver."""
        return self._controller

    @classmethod
    def get_serialization_name(cls) -> str | None:
        return None

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[AgentDepsT], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        """Answer each call that waits for approval. Calls for external execution stay deferred."""
        if not requests.approvals:
            return None
        if self._session._unchecked:
            self._session._check_tool_names(tools_of_agent(ctx))
        tickets = self._session.submit([self._call(ctx, call, requests.metadata) for call in requests.approvals])
        try:
            await asyncio.gather(*(settle(ticket) for ticket in tickets))
        except BaseException:
            for ticket in tickets:
                ticket.cancel()
            raise
        approvals: dict[str, Any] = {}
        for call, ticket in zip(requests.approvals, tickets, strict=True):
            approvals[call.tool_call_id] = self._answer(ctx, call, ticket)
        return requests.build_results(approvals=approvals)

    async def wrap_tool_execute(
        self,
        ctx: RunContext[AgentDepsT],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Any],
    ) -> Any:
        """Run a tool. If this handler approved the call, log its result."""
        ticket = self._permitted.pop((ctx.run_id, call.tool_call_id), None)
        if ticket is None:
            return await handler(args)
        notice = ticket.notice
        result = await run(ticket, handler(args), call_key(ctx))
        finish(ticket, result)
        return with_notice(result, notice)

    async def wrap_run(self, ctx: RunContext[AgentDepsT], *, handler: Callable[[], Any]) -> AgentRunResult[Any]:
        """Run the agent, then close the permits that were not used."""
        try:
            result: AgentRunResult[Any] = await handler()
            return result
        finally:
            for key in [key for key in self._permitted if key[0] == ctx.run_id]:
                self._permitted.pop(key).finish(error=RuntimeError("the call was permitted, but did not run"))

    def _call(self, ctx: RunContext[AgentDepsT], call: ToolCallPart, metadata: Mapping[str, Any]) -> tuple[Any, ...]:
        facts = {**metadata_of(ctx), "tool_call_id": call.tool_call_id, "batch_id": batch_id(ctx)}
        known = metadata.get(call.tool_call_id) or {}
        request = {key: known[key] for key in ("description", "payload") if known.get(key) is not None}
        views: list[_views.View] = [lambda name, args, _metadata: _assess.view(request or True, name, args)]
        tool = (getattr(ctx.tool_manager, "tools", None) or {}).get(call.tool_name)
        memory, tool_def = self._controller.memory, getattr(tool, "tool_def", None)
        checked = _assess.of(function_of(tool), memory, run_context=ctx, tool_def=tool_def)
        if checked is not None:
            views.insert(0, checked)
        return call.tool_name, call.args_as_dict(), facts, _views.strictest(views)

    def _answer(self, ctx: RunContext[AgentDepsT], call: ToolCallPart, ticket: Any) -> ToolApproved | ToolDenied:
        if ticket.state != "run":
            return denial_of(self._session, ticket)
        self._permitted[ctx.run_id, call.tool_call_id] = ticket
        return ToolApproved(override_args=dict(ticket.args) if ticket.edited else None)
