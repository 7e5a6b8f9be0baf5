"""The last steps of a call, for every framework: wait for the decision, run the tool, report its result.

A caller that stops waiting cancels its ticket, so that no question outlives its call.
"""

from __future__ import annotations

import contextvars
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from ._askfirst import Approval, Ticket
from ._outcome import Denied, ToolFailed
from ._session import Session
from ._session import _running as running

_T = TypeVar("_T")


async def settle(ticket: Ticket) -> str:
    """Wait for the decision without blocking the event loop. Return ``"run"`` or ``"done"``."""
    return ticket.state if ticket.state != "wait" else str(await ticket.changed())


def settle_sync(ticket: Ticket) -> str:
    """Blocking version of `settle`."""
    return ticket.state if ticket.state != "wait" else ticket.wait()


def refusal(session: Session, ticket: Ticket) -> Denied:
    """Return the refusal of a call for the model. Raise it if it ends the run."""
    outcome = ticket.outcome
    no = None if outcome is None else outcome.denied()
    if no is None:
        raise ToolFailed("the call did not run" if outcome is None else outcome.text)
    if no.ends_run:
        raise no.error()
    return no


around: contextvars.ContextVar[tuple[str, Ticket] | None] = contextvars.ContextVar("askfirst_around", default=None)
"""The call that runs in this context: the framework's id of it, and its ticket."""


@contextmanager
def executing(ticket: Ticket, call_id: str | None) -> Iterator[None]:
    """Run the tool of a ticket in this block. ``call_id`` is the framework's id of the call."""
    token = running.set(ticket)
    around_token = around.set(None if call_id is None else (call_id, ticket))
    try:
        yield
    except BaseException as error:
        ticket.finish(error=error)
        raise
    finally:
        around.reset(around_token)
        running.reset(token)


def approval_around(call_id: str | None) -> Approval | None:
    """Return the approval of the same call by a wrapper around this one, or ``None``."""
    outer = around.get()
    return outer[1].approval if outer is not None and outer[0] == call_id else None


async def run(ticket: Ticket, execute: Awaitable[_T], call_id: str | None = None) -> _T:
    """Await a permitted tool. Report an exception to the ticket and raise it unchanged."""
    with executing(ticket, call_id):
        return await execute


def finish(ticket: Ticket, result: Any = None, *, error: BaseException | None = None) -> None:
    """Report the result or the error of a tool. Raise if askfirst cannot write the audit log."""
    if error is not None:
        ticket.finish(error=error)
    elif ticket.finish(result) != "done":
        raise not_recorded(ticket)


def not_recorded(ticket: Ticket) -> ToolFailed:
    """Return the exception for a tool that ran, but whose end is not in the audit log."""
    outcome = ticket.outcome
    return ToolFailed("the tool ran, but the audit log has no result" if outcome is None else outcome.text)
