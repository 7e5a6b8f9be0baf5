"""The API of ``pydantic-ai-blocking-approval`` 0.9.0, implemented with askfirst.

Code for that package runs after a change of the import. Names and signatures are the same, and a refusal raises. The
guide page `moving-from-blocking-approval.md` lists the differences.
"""

from __future__ import annotations

import asyncio
import inspect
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Optional, Protocol, Union, runtime_checkable

from pydantic import BaseModel
from pydantic_ai import RunContext
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

from . import _assess, _types
from ._controller import ApprovalController as _Controller
from ._driving import finish, refusal, run, settle
from ._memory import ApprovalMemory as _Memory
from ._session import Session
from .pydantic_ai._around import AroundToolset
from .pydantic_ai._context import batch_id, has_siblings, metadata_of
from .pydantic_ai._gather import gathering_of

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "ApprovalBlocked",
    "ApprovalCallback",
    "ApprovalConfig",
    "ApprovalDecision",
    "ApprovalDenied",
    "ApprovalError",
    "ApprovalRequest",
    "ApprovalResult",
    "ApprovalToolset",
    "SupportsApprovalDescription",
    "SupportsNeedsApproval",
    "needs_approval_from_config",
]

ApprovalConfig = Mapping[str, Mapping[str, Any]]
"""Entries by tool name. ``{"pre_approved": True}`` skips the question."""


@dataclass(frozen=True)
class ApprovalResult:
    """Whether a call is blocked, pre-approved, or needs approval."""

    status: Literal["blocked", "pre_approved", "needs_approval"]
    block_reason: Optional[str] = None

    def __post_init__(self) -> None:
        if (self.status == "blocked") != (self.block_reason is not None):
            raise ValueError("`block_reason` is required for `blocked`, and not allowed otherwise")

    @classmethod
    def blocked(cls, reason: str) -> Self:
        """The call is denied."""
        return cls("blocked", reason)

    @classmethod
    def pre_approved(cls) -> Self:
        """The call runs without a question."""
        return cls("pre_approved")

    @classmethod
    def needs_approval(cls) -> Self:
        """A person decides about the call."""
        return cls("needs_approval")

    @property
    def is_blocked(self) -> bool:
        return self.status == "blocked"

    @property
    def is_pre_approved(self) -> bool:
        return self.status == "pre_approved"

    @property
    def is_needs_approval(self) -> bool:
        return self.status == "needs_approval"


class ApprovalRequest(BaseModel):
    """The data with which a person is asked."""

    tool_name: str
    tool_args: dict[str, Any]
    description: str


class ApprovalDecision(BaseModel):
    """The answer. ``remember`` is a hint for the caller's own cache."""

    approved: bool
    note: Optional[str] = None
    remember: Literal["none", "session"] = "none"


class ApprovalError(PermissionError):
    """A call that did not run."""

    def __init__(self, tool_name: str, message: str) -> None:
        super().__init__(message)
        self.tool_name = tool_name


class ApprovalDenied(ApprovalError):
    """A call that a person refused."""

    def __init__(self, tool_name: str, decision: ApprovalDecision) -> None:
        super().__init__(tool_name, f"Approval denied for {tool_name}: {decision.note or 'no reason given'}")
        self.decision = decision


class ApprovalBlocked(ApprovalError):
    """A call that its tool blocks."""

    def __init__(self, tool_name: str, reason: Optional[str]) -> None:
        super().__init__(tool_name, f"Blocked {tool_name}: {reason or 'blocked by policy'}")
        self.reason = reason


ApprovalCallback = Callable[[ApprovalRequest], Union[ApprovalDecision, Awaitable[ApprovalDecision]]]
"""A function that answers requests, sync or async."""


@runtime_checkable
class SupportsNeedsApproval(Protocol):
    """A toolset that assesses its own calls."""

    def needs_approval(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], config: ApprovalConfig
    ) -> Union[ApprovalResult, Awaitable[ApprovalResult]]:
        """Return whether a call is blocked, pre-approved, or needs approval."""
        ...


@runtime_checkable
class SupportsApprovalDescription(Protocol):
    """A toolset that describes its calls for a person."""

    def get_approval_description(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any]) -> str:
        """Return the description for the person."""
        ...


def needs_approval_from_config(name: str, config: Optional[ApprovalConfig]) -> ApprovalResult:
    """Return ``pre_approved`` if the entry says so, or else ``needs_approval``."""
    if ((config or {}).get(name) or {}).get("pre_approved"):
        return ApprovalResult.pre_approved()
    return ApprovalResult.needs_approval()


Remembering = Literal["session", "caller"]
"""The keeper of an answer: the session, or the caller."""


@dataclass
class Question:
    """One pending call, in the types of this module."""

    request: ApprovalRequest
    loop: Optional[asyncio.AbstractEventLoop]
    decision: Optional[ApprovalDecision] = None
    error: Optional[BaseException] = None

    def answered(self, answer: Any, remembering: Remembering) -> _types.ApprovalDecision:
        """Convert the answer of the callback to a decision."""
        if not isinstance(answer, ApprovalDecision):
            raise TypeError("approval_callback must return ApprovalDecision")
        self.decision = answer
        remember = answer.remember if remembering == "session" else "none"
        return _types.ApprovalDecision(approved=answer.approved, note=answer.note, remember=remember)


class Questions:
    """The approver around a callback. The request of each call carries a token, which finds the original request.

    An exception of the callback is kept with the question, and raised where the tool was called.
    """

    def __init__(self, callback: ApprovalCallback, remembering: Remembering) -> None:
        self._callback = callback
        self._remembering: Remembering = remembering
        self._open: dict[str, Question] = {}
        called = getattr(callback, "__call__", callback)
        is_async = inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(called)
        self.approver: Callable[[Any], Any] = self._ask_async if is_async else self._ask

    @contextmanager
    def asking(self, request: ApprovalRequest) -> Iterator[tuple[str, Question]]:
        """Open a question, and return it with its token. It stays open while the block runs."""
        token = f"call-{secrets.token_hex(8)}"
        question = self._open[token] = Question(request, running_loop())
        try:
            yield token, question
        finally:
            del self._open[token]

    def _ask(self, request: Any) -> Any:
        question = self._open[request.group_id]
        try:
            answer: Any = self._callback(question.request)
            if inspect.isawaitable(answer):
                answer = _finished(answer, question.loop)
            return question.answered(answer, self._remembering)
        except BaseException as error:
            question.error = error
            raise

    async def _ask_async(self, request: Any) -> Any:
        question = self._open[request.group_id]
        try:
            answer: Any = self._callback(question.request)
            return question.answered(await answer, self._remembering)
        except BaseException as error:
            question.error = error
            raise


def _finished(awaitable: Any, loop: Optional[asyncio.AbstractEventLoop]) -> Any:
    async def whole() -> Any:
        return await awaitable

    if loop is None:
        return asyncio.run(whole())
    return asyncio.run_coroutine_threadsafe(whole(), loop).result()


class GatedToolset(AroundToolset[Any]):
    """The base of both versions of ``ApprovalToolset``: sends a call through the session."""

    def __init__(
        self,
        inner: AbstractToolset[Any],
        approval_callback: ApprovalCallback,
        memory: Optional[_Memory],
        config: Optional[dict[str, dict[str, Any]]],
        remembering: Remembering,
    ) -> None:
        super().__init__(inner)
        self._approval_callback = approval_callback
        self.config = config if config is not None else {}
        self._questions = Questions(approval_callback, remembering)
        controller = _Controller(approval_callback=self._questions.approver, memory=memory, timeout=None)
        self._session = Session({"default_approval": "required"}, controller=controller)
        self._gathering = gathering_of(controller)

    @property
    def _inner(self) -> AbstractToolset[Any]:
        return self.wrapped

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Run the tool if the call is approved, or raise."""
        result = await self._result(name, tool_args, ctx)
        text = self._description(name, tool_args, ctx) if result.is_needs_approval else ""
        request = ApprovalRequest(tool_name=name, tool_args=tool_args, description=text)
        with self._questions.asking(request) as (token, question):
            metadata = {**metadata_of(ctx), "batch_id": token}
            call = (name, tool_args, metadata, _view(result, text))
            if has_siblings(ctx):
                ticket = await self._gathering.submit(self._session, batch_id(ctx), call)
            else:
                ticket = self._session.start(*call)
            await settle(ticket)
        if ticket.state != "run":
            raise self._refusal(name, result, question, refusal(self._session, ticket))
        value = await run(ticket, self.wrapped.call_tool(name, tool_args, ctx, tool))
        finish(ticket, value)
        return value

    async def _result(self, name: str, tool_args: dict[str, Any], ctx: Any) -> Any:
        raise NotImplementedError

    def _refusal(self, name: str, result: Any, question: Question, no: Any) -> BaseException:
        raise NotImplementedError

    def _description(self, name: str, tool_args: dict[str, Any], ctx: Any) -> str:
        describe = getattr(self.wrapped, "get_approval_description", None)
        if describe is not None:
            return str(describe(name, tool_args, ctx))
        return f"{name}({', '.join(f'{key}={value!r}' for key, value in tool_args.items())})"


class ApprovalToolset(GatedToolset):
    """A toolset whose calls need approval. A refusal raises ``ApprovalDenied``.

    ``needs_approval`` of the inner toolset decides which calls to ask about, or else ``config``.
    """

    def __init__(
        self,
        inner: AbstractToolset[Any],
        approval_callback: ApprovalCallback,
        config: Optional[dict[str, dict[str, Any]]] = None,
    ) -> None:
        super().__init__(inner, approval_callback, None, config, "caller")

    async def _result(self, name: str, tool_args: dict[str, Any], ctx: Any) -> ApprovalResult:
        needs = getattr(self.wrapped, "needs_approval", None)
        if needs is None:
            return needs_approval_from_config(name, self.config)
        result: Any = needs(name, tool_args, ctx, self.config)
        if inspect.isawaitable(result):
            result = await result
        if not isinstance(result, ApprovalResult):
            raise TypeError("needs_approval must return ApprovalResult")
        return result

    def _refusal(self, name: str, result: ApprovalResult, question: Question, no: Any) -> BaseException:
        if result.is_blocked:
            return ApprovalBlocked(name, result.block_reason)
        if question.error is not None:
            return question.error
        if question.decision is not None and not question.decision.approved:
            return ApprovalDenied(name, question.decision)
        return ApprovalDenied(name, ApprovalDecision(approved=False, note=no.note or str(no)))


def _view(result: Any, text: str) -> Callable[..., Any]:
    def view(name: str, args: dict[str, Any], _metadata: Any) -> Any:
        if result.is_blocked:
            raise PermissionError(result.block_reason or "blocked by policy")
        return _assess.view({"description": text} if result.is_needs_approval else False, name, args)

    return view


def running_loop() -> Optional[asyncio.AbstractEventLoop]:
    """Return the running event loop of this thread, or ``None``."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
