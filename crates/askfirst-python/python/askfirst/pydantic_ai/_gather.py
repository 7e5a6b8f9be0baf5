"""Collects the calls of one model response, so that a person sees them in one dialog.

PydanticAI starts each call of a response as its own task. Calls with one controller that arrive at the same moment are
submitted together, whichever toolset they go through. A later call asks alone.
"""

from __future__ import annotations

import asyncio
import weakref
from typing import TYPE_CHECKING, Any

from .._controller import ApprovalController
from .._session import Session, submit_together

if TYPE_CHECKING:
    from typing import TypeAlias

    _Waiting: TypeAlias = tuple[Session, tuple[Any, ...], asyncio.Future[Any]]

_TURNS = 2
"""How many turns of the event loop the first call waits for the others."""

_of_controller: weakref.WeakKeyDictionary[ApprovalController, Gathering] = weakref.WeakKeyDictionary()


def gathering_of(controller: ApprovalController) -> Gathering:
    """Return the gathering for the calls of one controller."""
    return _of_controller.setdefault(controller, Gathering())


class Gathering:
    """The calls that wait for others, by event loop and response."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[int, str], list[_Waiting]] = {}

    async def submit(self, session: Session, batch: str, call: tuple[Any, ...]) -> Any:
        """Submit a call together with the others of its response, and return its ticket."""
        loop = asyncio.get_running_loop()
        key = (id(loop), batch)
        future: asyncio.Future[Any] = loop.create_future()
        if (waiting := self._waiting.get(key)) is not None:
            waiting.append((session, call, future))
        else:
            self._waiting[key] = [(session, call, future)]
            loop.call_soon(self._later, key, loop, _TURNS - 1)
        try:
            return await future
        except asyncio.CancelledError:
            _withdraw(future)
            raise

    def _later(self, key: tuple[int, str], loop: asyncio.AbstractEventLoop, turns: int) -> None:
        if turns > 0:
            loop.call_soon(self._later, key, loop, turns - 1)
            return
        waiting = [each for each in self._waiting.pop(key, []) if not each[2].cancelled()]
        if not waiting:
            return
        try:
            tickets = submit_together([(session, call) for session, call, _ in waiting])
        except BaseException as error:  # noqa: BLE001 - every waiting call gets it
            for _, _, future in waiting:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, _, future), ticket in zip(waiting, tickets, strict=True):
            if future.done():
                ticket.cancel()
            else:
                future.set_result(ticket)


def _withdraw(future: asyncio.Future[Any]) -> None:
    if future.done() and not future.cancelled() and future.exception() is None:
        future.result().cancel()
