"""Waits for a ticket on an event loop, without a thread."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._askfirst import Ticket


async def changed(ticket: Ticket) -> str:
    """Wait while the ticket's state is ``"wait"``. Canceling the task cancels the ticket."""
    loop = asyncio.get_running_loop()
    state = ticket.poll()
    try:
        while state == "wait":
            woken: asyncio.Future[None] = loop.create_future()
            ticket.on_change(lambda woken=woken: _tell(loop, woken))  # type: ignore[misc]
            await woken
            state = ticket.poll()
    except BaseException:
        ticket.cancel()
        raise
    return state


def _tell(loop: asyncio.AbstractEventLoop, woken: asyncio.Future[None]) -> None:
    try:
        loop.call_soon_threadsafe(_set, woken)
    except RuntimeError:
        # The loop is closed, so nothing waits on it.
        pass


def _set(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)
