"""The API of ``pydantic-ai-blocking-approval`` 0.8.0, implemented with askfirst.

It adds a controller and a memory to the API of 0.9.0. The mode decides before the callback, an empty memory that is
passed in is kept, and ``Path("x")`` and ``"x"`` are different arguments.
"""

from __future__ import annotations

import inspect
from typing import Any, Literal, Optional, Protocol, runtime_checkable

from pydantic_ai import RunContext
from pydantic_ai.toolsets import AbstractToolset

from . import _types
from ._controller import ApprovalController as _Controller
from ._memory import ApprovalMemory as _Memory
from .compat import (
    ApprovalCallback,
    ApprovalDecision,
    ApprovalRequest,
    GatedToolset,
    Question,
    Questions,
    SupportsApprovalDescription,
)
from .compat import ApprovalResult as _ApprovalResult

__all__ = [
    "ApprovalCallback",
    "ApprovalController",
    "ApprovalDecision",
    "ApprovalMemory",
    "ApprovalRequest",
    "ApprovalResult",
    "ApprovalToolset",
    "SupportsApprovalDescription",
    "SupportsNeedsApproval",
]

Mode = Literal["interactive", "approve_all", "strict"]


class ApprovalResult(_ApprovalResult):
    """Whether a call is blocked, pre-approved, or needs approval. Unlike 0.9.0, it does not check its fields."""

    def __post_init__(self) -> None: ...


@runtime_checkable
class SupportsNeedsApproval(Protocol):
    """A toolset that assesses its own calls."""

    def needs_approval(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any]) -> ApprovalResult:
        """Return whether a call is blocked, pre-approved, or needs approval."""
        ...


class ApprovalMemory:
    """The remembered answers of a session, by tool and arguments."""

    def __init__(self) -> None:
        self._memory = _Memory()

    def lookup(self, tool_name: str, args: dict[str, Any]) -> Optional[ApprovalDecision]:
        """Return the answer to an equal call, or ``None``."""
        return _from_native(self._memory.lookup(tool_name, args))

    def store(self, tool_name: str, args: dict[str, Any], decision: ApprovalDecision) -> None:
        """Remember an answer if it has ``remember="session"``."""
        if decision.remember == "session":
            self._memory.store(tool_name, args, _to_native(decision))

    def clear(self) -> None:
        """Forget all answers."""
        self._memory.clear()

    def list_approvals(self) -> list[tuple[str, dict[str, Any], ApprovalDecision]]:
        """Return all remembered answers, each with its tool and arguments."""
        kept = []
        for entry in self._memory.list():
            decision = entry["decision"]
            answer = ApprovalDecision(approved=decision["approved"], note=decision.get("note"), remember="session")
            kept.append((entry["tool_name"], entry["payload"], answer))
        return kept

    def __len__(self) -> int:
        return len(self._memory.list())


class ApprovalController:
    """Turns requests into decisions with a mode, a memory and a callback."""

    def __init__(self, mode: Mode = "interactive", approval_callback: Optional[ApprovalCallback] = None) -> None:
        self.mode = mode
        self._approval_callback = approval_callback
        self._memory = ApprovalMemory()

    @property
    def memory(self) -> ApprovalMemory:
        """The remembered answers."""
        return self._memory

    @property
    def approval_callback(self) -> ApprovalCallback:
        """The function that answers requests: by the mode, or by the callback in interactive mode."""
        if self.mode == "approve_all":
            return lambda _request: ApprovalDecision(approved=True)
        if self.mode == "strict":
            return lambda request: _strict(request.tool_name)
        if self._approval_callback is None:
            raise RuntimeError("No approval_callback set for interactive mode")
        return self._approval_callback

    def is_session_approved(self, request: ApprovalRequest) -> bool:
        """Return whether an equal call was approved for the session."""
        kept = self._memory.lookup(request.tool_name, request.tool_args)
        return kept is not None and kept.approved

    def clear_session_approvals(self) -> None:
        """Forget all answers."""
        self._memory.clear()

    def request_approval_sync(self, request: ApprovalRequest) -> ApprovalDecision:
        """Decide about a request, and block until there is an answer."""
        decided = self._without_asking(request, NotImplementedError)
        if decided is not None:
            return decided
        if inspect.iscoroutinefunction(self._approval_callback):
            raise TypeError("request_approval_sync() requires a sync callback; use request_approval()")
        questions, controller = self._questions()
        with questions.asking(request) as (token, question):
            return _answer(question, controller.request_approval_sync(_asked(request, token)))

    async def request_approval(self, request: ApprovalRequest) -> ApprovalDecision:
        """Decide about a request without blocking the event loop."""
        decided = self._without_asking(request, RuntimeError)
        if decided is not None:
            return decided
        questions, controller = self._questions()
        with questions.asking(request) as (token, question):
            return _answer(question, await controller.request_approval(_asked(request, token)))

    def _without_asking(self, request: ApprovalRequest, missing: type[Exception]) -> Optional[ApprovalDecision]:
        if self.mode == "approve_all":
            return ApprovalDecision(approved=True)
        if self.mode == "strict":
            return _strict(request.tool_name)
        if self.mode != "interactive":
            raise ValueError(f"`mode` must be interactive, approve_all or strict, not `{self.mode}`")
        kept = self._memory.lookup(request.tool_name, request.tool_args)
        if kept is None and self._approval_callback is None:
            raise missing("No approval_callback provided for interactive mode")
        return kept

    def _questions(self) -> tuple[Questions, _Controller]:
        callback = self._approval_callback
        if callback is None:
            raise RuntimeError("No approval_callback provided for interactive mode")
        questions = Questions(callback, "session")
        memory = self._memory._memory
        return questions, _Controller(approval_callback=questions.approver, memory=memory, timeout=None)


class ApprovalToolset(GatedToolset):
    """A toolset whose calls need approval. A refusal raises ``PermissionError``.

    ``needs_approval`` of the inner toolset decides which calls to ask about, or else ``config``.
    """

    def __init__(
        self,
        inner: AbstractToolset[Any],
        approval_callback: ApprovalCallback,
        memory: Optional[ApprovalMemory] = None,
        config: Optional[dict[str, dict[str, Any]]] = None,
    ) -> None:
        kept = memory if memory is not None else ApprovalMemory()
        super().__init__(inner, approval_callback, kept._memory, config, "session")
        self._memory = kept

    async def _result(self, name: str, tool_args: dict[str, Any], ctx: Any) -> ApprovalResult:
        needs = getattr(self.wrapped, "needs_approval", None)
        if needs is not None:
            result: Any = needs(name, tool_args, ctx)
            if inspect.isawaitable(result):
                result = await result
            if not all(hasattr(result, name) for name in ("is_blocked", "is_needs_approval", "block_reason")):
                raise TypeError("needs_approval must return ApprovalResult")
            return result  # type: ignore[no-any-return]
        if (self.config.get(name) or {}).get("pre_approved"):
            return ApprovalResult.pre_approved()
        return ApprovalResult.needs_approval()

    def _refusal(self, name: str, result: ApprovalResult, question: Question, no: Any) -> BaseException:
        if result.is_blocked:
            return PermissionError(result.block_reason)
        if question.error is not None:
            return question.error
        note = question.decision.note if question.decision is not None else no.note or str(no)
        return PermissionError(f"User denied {name}: {note or 'no reason given'}")


def _strict(tool_name: str) -> ApprovalDecision:
    return ApprovalDecision(approved=False, note=f"Strict mode: {tool_name} requires approval")


def _asked(request: ApprovalRequest, token: str) -> _types.ApprovalRequest:
    return _types.ApprovalRequest(request.tool_name, request.description, request.tool_args, group_id=token)


def _answer(question: Question, given: Any) -> ApprovalDecision:
    if question.error is not None:
        raise question.error
    if question.decision is not None:
        return question.decision
    return ApprovalDecision(approved=given.approved, note=given.note)


def _from_native(decision: Any) -> Optional[ApprovalDecision]:
    if decision is None:
        return None
    return ApprovalDecision(approved=decision.approved, note=decision.note, remember="session")


def _to_native(decision: ApprovalDecision) -> _types.ApprovalDecision:
    return _types.ApprovalDecision(approved=decision.approved, note=decision.note, remember="session")
