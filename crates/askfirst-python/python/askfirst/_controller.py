"""The controller: mode, memory and approver."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from . import _askfirst
from ._memory import ApprovalMemory, not_picklable
from ._types import (
    ApprovalDecision,
    ApprovalRequest,
    Mode,
    request_to_native,
)

if TYPE_CHECKING:
    from typing import TypeAlias

    from ._ask import Asker

    ApprovalCallback: TypeAlias = Callable[[ApprovalRequest], ApprovalDecision | Awaitable[ApprovalDecision]]
else:
    ApprovalCallback = Callable


class _NoSection:
    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


_NO_SECTION = _NoSection()


class ApprovalController:
    """Turns a request into a decision: mode, then memory, then approver.

    ``approval_callback`` gets a request and returns an ``ApprovalDecision``. It may be sync or async. With the
    attribute ``takes_many = True`` it gets a list of requests and returns a list of decisions. Without a callback,
    askfirst asks at the terminal.

    >>> controller = ApprovalController(approval_callback=lambda request: ApprovalDecision(approved=True))
    >>> request = ApprovalRequest("rm", "Remove a", {"path": "a"})
    >>> controller.request_approval_sync(request).approved
    True
    >>> ApprovalController(mode="strict").request_approval_sync(request).cause
    'mode'
    """

    def __init__(
        self,
        mode: Mode = "interactive",
        approval_callback: Callable[..., Any] | None = None,
        *,
        memory: ApprovalMemory | None = None,
        timeout: float | None = 600.0,
        _config: _askfirst.Config | None = None,
    ) -> None:
        if approval_callback is not None and not callable(approval_callback):
            raise TypeError(f"`approval_callback` must be callable, not {type(approval_callback).__name__}")
        if memory is not None and not isinstance(memory, ApprovalMemory):
            raise TypeError(f"`memory` must be an ApprovalMemory, not {type(memory).__name__}")
        if not isinstance(mode, str):
            raise TypeError(f"`mode` must be a str, not {type(mode).__name__}")
        self._mode: Mode = mode
        self._memory = ApprovalMemory() if memory is None else memory
        self._asker: Asker | None = None
        if approval_callback is None:
            self._native = _askfirst.Controller(mode, self._memory._native, timeout, config=_config)
        else:
            from ._ask import Asker

            asker = self._asker = Asker(approval_callback)
            self._native = _askfirst.Controller(mode, self._memory._native, timeout, asker.ask, asker.withdraw)

    @property
    def mode(self) -> Mode:
        """``interactive``, ``approve_all`` or ``strict``."""
        return self._mode

    @property
    def memory(self) -> ApprovalMemory:
        """The decisions that are remembered."""
        return self._memory

    @property
    def approval_callback(self) -> Callable[[ApprovalRequest], ApprovalDecision]:
        """A function that decides about requests as this controller does."""
        return self.request_approval_sync

    def is_session_approved(self, request: ApprovalRequest) -> bool:
        """Return whether an equal request was approved for the session."""
        return self._native.is_session_approved(request_to_native(request))

    def add_session_approval(self, request: ApprovalRequest) -> None:
        """Approve equal requests for the session."""
        self._native.add_session_approval(request_to_native(request))

    def clear_session_approvals(self) -> None:
        """Forget all decisions."""
        self._memory.clear()

    async def request_approval(self, request: ApprovalRequest) -> ApprovalDecision:
        """Decide about a request without blocking the event loop. Canceling the task withdraws the request."""
        ticket = self._native.request(request_to_native(request))
        if ticket.state == "wait":
            await ticket.changed()
        return decided(ticket)

    def request_approval_sync(self, request: ApprovalRequest) -> ApprovalDecision:
        """Decide about a request, and block until there is an answer. Ctrl-C withdraws the request."""
        with self._blocking():
            ticket = self._native.request(request_to_native(request))
        if ticket.state == "wait":
            ticket.wait()
        return decided(ticket)

    def stop(self) -> None:
        """Stop the run: refuse all waiting calls and all later ones."""
        self._native.stop()

    def _blocking(self) -> Any:
        """Return a section for submitting a call whose answer this thread waits for.

        This thread cannot run an async callback meanwhile, so the callback runs on another event loop.
        """
        return _NO_SECTION if self._asker is None else self._asker.blocking_section

    def __reduce__(self) -> Any:
        raise TypeError(not_picklable("ApprovalController"))

    def __copy__(self) -> ApprovalController:
        return self

    def __repr__(self) -> str:
        return f"<askfirst.ApprovalController {self._mode}>"


def decided(ticket: _askfirst.Ticket) -> ApprovalDecision:
    """Return the decision of a question. A withdrawn question counts as refused."""
    outcome = ticket.outcome
    if outcome is None or outcome.decision is None:
        return ApprovalDecision(approved=False, cause="cancelled", note="the request was canceled")
    return outcome.decision
