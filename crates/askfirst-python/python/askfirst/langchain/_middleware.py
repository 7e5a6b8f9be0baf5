"""The middleware that asks before tools run.

Every tool call of an agent goes through it, sync and async. A refusal becomes a tool message for the model. It keeps
nothing in the graph's state, so it needs no checkpointer. With one, a run that ended during a question asks again when
it continues.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.types import Command, interrupt

from .._askfirst import ConfigError
from .._arguments import Config, one_config, one_controller
from .._controller import ApprovalController
from .._driving import finish, refusal, run, run_sync, settle, settle_sync
from .._memory import ApprovalMemory
from .._outcome import Denied
from .._session import Session
from .._types import ApprovalDecision, request_from_native
from ._answers import Answers, question, decision_or_refusal
from ._gather import Gathering
from ._tools import metadata_of, siblings_of, view_of

Result = ToolMessage | Command[Any]
_T = TypeVar("_T")


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
        self._gathering = Gathering(self._session)

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
        call, key = self._call(request)
        if self._answers is not None:
            ticket = self._resumed(self._answers, request, call)
        elif len(key) > 1:
            ticket = self._gathering.submit(key, call)
        else:
            with self._controller._blocking():
                ticket = self._session.start(*call)
        if settle_sync(ticket) != "run":
            return self._refused(request, ticket)
        return finished(ticket, run_sync(ticket, lambda: handler(_permitted(request, ticket))))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]
    ) -> Result:
        """Async version of `wrap_tool_call`."""
        call, key = self._call(request)
        if self._answers is not None:
            ticket = self._resumed(self._answers, request, call)
        elif len(key) > 1:
            ticket = await self._gathering.submit_async(key, call)
        else:
            ticket = self._session.start(*call)
        if await settle(ticket) != "run":
            return self._refused(request, ticket)
        return finished(ticket, await run(ticket, handler(_permitted(request, ticket))))

    def _call(self, request: ToolCallRequest) -> tuple[tuple[Any, ...], tuple[str, ...]]:
        name, args, call_id = request.tool_call["name"], request.tool_call["args"], request.tool_call["id"]
        config = getattr(request.runtime, "config", None)
        view = view_of(request.tool, name, config, self._controller.memory)
        metadata = metadata_of(config, call_id)
        key = siblings_of(request.state, call_id)
        if len(key) > 1:
            metadata["batch_id"] = "/".join(key)
        return (name, args, metadata, view), key

    def _resumed(self, answers: Answers, request: ToolCallRequest, call: tuple[Any, ...]) -> Any:
        """Pause the run until it is resumed with an answer, then return the ticket of the call."""
        name, args, metadata, view = call
        verdict = self._session.decide(name, args, metadata, view)
        answer: ApprovalDecision | None = None
        if verdict["verdict"] == "ask" and self._controller.mode == "interactive":
            asked = request_from_native(verdict["request"])
            if asked.approval == "human" or not self._controller.is_session_approved(asked):
                answer = decision_or_refusal(interrupt(question(asked, request.tool_call["id"])), name)
        with answers.holding(answer) as token:
            with self._controller._blocking():
                ticket = self._session.start(name, args, {**metadata, "batch_id": token}, view)
            settle_sync(ticket)
        return ticket

    def _refused(self, request: ToolCallRequest, ticket: Any) -> ToolMessage:
        return refusal_message(refusal(self._session, ticket), request.tool_call["name"], request.tool_call["id"])


def refusal_message(no: Denied, name: str, tool_call_id: str | None) -> ToolMessage:
    """Return the message to the model about a refused call."""
    known = {"cause": no.cause, "note": no.note}
    return ToolMessage(
        content=str(no), name=name, tool_call_id=tool_call_id or "", status="error", artifact={"askfirst": known}
    )


def finished(ticket: Any, result: _T) -> _T:
    """Report the result of a tool, as told by its message."""
    if isinstance(result, ToolMessage):
        error = RuntimeError(str(result.content)) if result.status == "error" else None
        finish(ticket, result.content, error=error)
    else:
        finish(ticket, None if isinstance(result, Command) else result)
    return result


def _permitted(request: ToolCallRequest, ticket: Any) -> ToolCallRequest:
    if not ticket.edited:
        return request
    return request.override(tool_call={**request.tool_call, "args": dict(ticket.args)})
