"""The middleware that asks before tools run.

Every tool call of an agent goes through it, sync and async. A refusal becomes a tool message for the model. It keeps
nothing in the graph's state, so it needs no checkpointer. With one, a run that ended during a question asks again when
it continues.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Literal, NamedTuple

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.errors import GraphInterrupt
from langgraph.types import Command, interrupt

from .._askfirst import ConfigError
from .._arguments import Config, one_config, one_controller
from .._controller import ApprovalController
from .._driving import approval_around, executing, finish, refusal, settle, settle_sync
from .._memory import ApprovalMemory
from .._outcome import Denied
from .._session import Session
from .._types import ApprovalDecision, request_from_native
from ._answers import Answers, question, decision_or_refusal
from ._gather import Siblings, gathering_of
from ._reruns import ApprovedCall, Reruns
from ._tools import in_words, invalid_args, metadata_of, siblings_of, step_of, view_of

Result = ToolMessage | Command[Any]


class _Call(NamedTuple):
    """One tool call of an agent, ready to be submitted."""

    request: ToolCallRequest
    config: Any
    submission: tuple[Any, ...]
    siblings: Siblings
    rerun: ApprovedCall | None


class ApprovalMiddleware(AgentMiddleware[Any, Any, Any]):
    """Middleware for ``create_agent`` whose tool calls go through askfirst.

    ``controller`` answers requests, or else ``approval_callback`` (alias ``prompt_fn``) with an optional ``memory``.
    Without any of them, askfirst asks at the terminal. With ``pause=True`` the run pauses with LangGraph's
    ``interrupt``, which needs a checkpointer, and continues with ``Command(resume=...)``, also in another process. The
    answer is an ``ApprovalDecision``, its fields as a mapping, or one of LangChain's decisions (``approve``, ``edit``,
    ``reject``).
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
        pre_approved: Sequence[str] | None = None,
        default_approval: str = "required",
        on_denial: Literal["return", "stop"] | None = None,
        ledger: Any = None,
        pause: bool = False,
    ) -> None:
        super().__init__()
        if pause and (approval_callback is not None or prompt_fn is not None):
            raise ConfigError("`pause` and a callback cannot be combined: a paused run is answered by resuming it")
        asked = one_controller(controller, approval_callback, prompt_fn, memory)
        self._answers = Answers() if pause else None
        self._controller = asked if self._answers is None else self._answers.controller(asked)
        given, self._config = one_config(config, tool_configs, pre_approved, default_approval)
        self._session = Session(given, controller=self._controller, ledger=ledger, on_denial=on_denial)
        self._gathering = gathering_of(self._controller)
        self._reruns = Reruns()

    @property
    def controller(self) -> ApprovalController:
        """The controller: mode, memory and approver."""
        return self._controller

    @property
    def config(self) -> Mapping[str, Mapping[str, Any]]:
        """The tool entries as the caller wrote them."""
        return self._config

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Result]) -> Result:
        """Run a permitted call, or return the message about a refused one."""
        call = self._call(request)
        if isinstance(call, ToolMessage):
            return call
        ticket = self._submitted(call)
        if ticket is None:
            ticket = self._gathering.submit(self._session, call.siblings, call.submission)
        if settle_sync(ticket) != "run":
            return self._refused(request, ticket)
        with self._running(call, ticket) as (permitted, notice):
            result = handler(permitted)
        ended: Result = finished(ticket, result, notice)
        return ended

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]
    ) -> Result:
        """Async version of `wrap_tool_call`."""
        call = self._call(request)
        if isinstance(call, ToolMessage):
            return call
        ticket = self._submitted(call, is_async=True)
        if ticket is None:
            ticket = await self._gathering.submit_async(self._session, call.siblings, call.submission)
        if await settle(ticket) != "run":
            return self._refused(request, ticket)
        with self._running(call, ticket) as (permitted, notice):
            result = await handler(permitted)
        ended: Result = finished(ticket, result, notice)
        return ended

    def _call(self, request: ToolCallRequest) -> _Call | ToolMessage:
        """Return the call, or the message to the model about a call that cannot run."""
        name, args, call_id = request.tool_call["name"], request.tool_call["args"], request.tool_call["id"]
        if self._session._unchecked and (tools := getattr(request.runtime, "tools", None)):
            self._session._check_tool_names({tool.name for tool in tools})
        if request.tool is None:
            return not_run(name, call_id, f"there is no tool `{name}`")
        config = getattr(request.runtime, "config", None)
        # A paused run replays its answers itself.
        rerun = None if self._answers is not None else self._reruns.take(config, call_id, name, args)
        if rerun is None and (error := invalid_args(request.tool, args)) is not None:
            return not_run(name, call_id, f"invalid arguments: {in_words(error)}")
        view = view_of(request.tool, name, config, self._controller.memory)
        metadata = metadata_of(config, call_id)
        ids = siblings_of(request.state, call_id)
        if len(ids) > 1:
            metadata["batch_id"] = "/".join(ids)
        # Two runs may have calls with equal ids.
        siblings = Siblings((id(self._session), ids, step_of(config)), ids)
        return _Call(request, config, (name, args, metadata, view), siblings, rerun)

    def _submitted(self, call: _Call, *, is_async: bool = False) -> Any:
        """Return the ticket of a call that asks alone, or ``None`` for one that is asked about with others."""
        name, args, metadata, view = call.submission
        call_id = call.request.tool_call["id"]
        section = nullcontext() if is_async else self._controller._blocking()
        if call.rerun is not None:
            with section:
                return self._session.start(name, call.rerun.args, metadata, view, call.rerun.approval)
        if (approval := approval_around(call_id)) is not None:
            with section:
                return self._session.start(name, args, metadata, view, approval)
        if self._answers is not None:
            return self._resumed(self._answers, call)
        if len(call.siblings.ids or ()) > 1:
            return None
        with section:
            return self._session.start(name, args, metadata, view)

    def _resumed(self, answers: Answers, call: _Call) -> Any:
        """Pause the run until it is resumed with an answer, then return the ticket of the call."""
        name, args, metadata, view = call.submission
        verdict = self._session.decide(name, args, metadata, view)
        answer: ApprovalDecision | None = None
        if verdict["verdict"] == "ask" and self._controller.mode == "interactive":
            asked = request_from_native(verdict["request"])
            if asked.approval == "human" or not self._controller.is_session_approved(asked):
                shown = question(asked, call.request.tool_call["id"])
                answer = decision_or_refusal(interrupt(shown), name)
        with answers.holding(answer) as token:
            with self._controller._blocking():
                ticket = self._session.start(name, args, {**metadata, "batch_id": token}, view)
            settle_sync(ticket)
        return ticket

    @contextmanager
    def _running(self, call: _Call, ticket: Any) -> Iterator[tuple[ToolCallRequest, str | None]]:
        """Run a permitted call in this block, which gets the request to run and the text for the model."""
        tool_call, rerun = call.request.tool_call, call.rerun
        notice = ticket.notice if rerun is None else rerun.notice or ticket.notice
        request = call.request
        if ticket.edited or (rerun is not None and rerun.edited):
            request = request.override(tool_call={**tool_call, "args": dict(ticket.args)})
        self._reruns.keep(call.config, tool_call["id"], tool_call["name"], tool_call["args"], ticket, rerun)
        try:
            with executing(ticket, tool_call["id"]):
                yield request, notice
        except GraphInterrupt:
            self._reruns.interrupt(call.config)
            raise

    def _refused(self, request: ToolCallRequest, ticket: Any) -> ToolMessage:
        return refusal_message(refusal(self._session, ticket), request.tool_call["name"], request.tool_call["id"])


def refusal_message(no: Denied, name: str, tool_call_id: str | None) -> ToolMessage:
    """Return the message to the model about a refused call."""
    known = {"cause": no.cause, "note": no.note}
    return ToolMessage(
        content=str(no), name=name, tool_call_id=tool_call_id or "", status="error", artifact={"askfirst": known}
    )


def not_run(name: str, tool_call_id: str | None, why: str) -> ToolMessage:
    """Return the message to the model about a call that cannot run. No one was asked about it."""
    return ToolMessage(
        content=f"`{name}` did not run: {why}", name=name, tool_call_id=tool_call_id or "", status="error"
    )


def finished(ticket: Any, result: Any, notice: str | None = None) -> Any:
    """Report the result of a tool, as told by its message. Return it with the text for the model."""
    if isinstance(result, ToolMessage):
        error = RuntimeError(str(result.content)) if result.status == "error" else None
        finish(ticket, result.content, error=error)
    else:
        finish(ticket, None if isinstance(result, Command) else result)
    return result if notice is None else with_notice(result, notice)


def with_notice(result: Any, notice: str) -> Any:
    """Return the result of a tool with a text for the model in each of its messages."""
    if isinstance(result, ToolMessage):
        content = result.content
        text = f"{content}\n\n{notice}" if isinstance(content, str) else [*content, {"type": "text", "text": notice}]
        return result.model_copy(update={"content": text})
    if isinstance(result, list):
        return [with_notice(each, notice) for each in result]
    if isinstance(result, Command) and isinstance(result.update, dict) and "messages" in result.update:
        messages = with_notice(result.update["messages"], notice)
        return dataclasses.replace(result, update={**result.update, "messages": messages})
    return result
