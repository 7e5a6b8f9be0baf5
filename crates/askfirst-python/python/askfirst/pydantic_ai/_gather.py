"""Calls of one model response, brought together before the first question.

PydanticAI starts the calls of one response as tasks of their own. Those that arrive in the same moment are submitted
together, so that a person sees them in one dialog; one that comes later asks alone.
"""

from __future__ import annotations

import asyncio
from typing import Any

from .._session import Session

_TURNS = 2
"""How many turns of the event loop a first call waits for its siblings."""


class Gathering:
    """The calls that wait for their siblings, by batch and event loop."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._waiting: dict[tuple[int, str], list[tuple[Any, asyncio.Future[Any]]]] = {}

    async def submit(self, batch: str, call: tuple[Any, ...]) -> Any:
        """The ticket of one call, submitted together with those of its batch that came in the same moment."""
        loop = asyncio.get_running_loop()
        key = (id(loop), batch)
        future: asyncio.Future[Any] = loop.create_future()
        if (waiting := self._waiting.get(key)) is not None:
            waiting.append((call, future))
        else:
            self._waiting[key] = [(call, future)]
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
        waiting = [(call, future) for call, future in self._waiting.pop(key, []) if not future.cancelled()]
        if not waiting:
            return
        try:
            tickets = self._session.submit([call for call, _ in waiting])
        except BaseException as error:  # noqa: BLE001 - every one of them learns it
            for _, future in waiting:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), ticket in zip(waiting, tickets, strict=True):
            if future.done():
                ticket.cancel()
            else:
                future.set_result(ticket)


def _withdraw(future: asyncio.Future[Any]) -> None:
    if future.done() and not future.cancelled() and future.exception() is None:
        future.result().cancel()
