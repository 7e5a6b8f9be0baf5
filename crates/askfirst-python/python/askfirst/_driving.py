"""The last part of a call's way, the same for every framework: wait, run what was permitted, say how it ended.

A ticket that nobody waits for any more is cancelled, so that no question outlives the call it belongs to.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from ._askfirst import Ticket
from ._outcome import Denied, ToolFailed
from ._session import Session
from ._session import _running as running

_T = TypeVar("_T")


async def settle(ticket: Ticket) -> str:
    """Waits, without blocking the event loop, until nobody is being asked any more: ``"run"`` or ``"done"``."""
    return ticket.state if ticket.state != "wait" else str(await ticket.changed())


def settle_sync(ticket: Ticket) -> str:
    """The same for code without an event loop."""
    return ticket.state if ticket.state != "wait" else ticket.wait()


def refusal(session: Session, ticket: Ticket) -> Denied:
    """What the model is told about a call that did not run. Where a no ends the run, it raises."""
    outcome = ticket.outcome
    no = None if outcome is None else outcome.denied()
    if no is None:
        raise ToolFailed("it did not run" if outcome is None else outcome.text)
    if no.ends_run:
        raise no.error()
    return no


async def run(ticket: Ticket, execute: Awaitable[_T]) -> _T:
    """Awaits what a ticket permits, and says how it ended. What the tool raises comes out unchanged."""
    token = running.set(ticket)
    try:
        result = await execute
    except BaseException as error:
        ticket.finish(error=error)
        raise
    finally:
        running.reset(token)
    return result


def run_sync(ticket: Ticket, execute: Callable[[], _T]) -> _T:
    """The same for code without an event loop."""
    token = running.set(ticket)
    try:
        result = execute()
    except BaseException as error:
        ticket.finish(error=error)
        raise
    finally:
        running.reset(token)
    return result


def finish(ticket: Ticket, result: Any = None, *, error: BaseException | None = None) -> None:
    """Says how a tool ended. If that cannot be recorded, it raises."""
    if error is not None:
        ticket.finish(error=error)
    elif ticket.finish(result) != "done":
        raise not_recorded(ticket)


def not_recorded(ticket: Ticket) -> ToolFailed:
    """The exception for a tool that ran and whose end could not be recorded."""
    outcome = ticket.outcome
    return ToolFailed("how the tool ended could not be recorded" if outcome is None else outcome.text)
