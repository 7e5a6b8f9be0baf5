"""Calls of one model message, brought together before the first question.

LangGraph starts the calls of one message as tasks of their own, in threads or in one event loop. They are submitted
together once all of them are here, or after a moment: one that comes later asks alone.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import Any

from .._session import Session

_MOMENT = 0.05
"""Seconds that a first call waits for its siblings."""


class Gathering:
    """The calls that wait for their siblings, by the ids of the calls of one message."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, ...], list[tuple[Any, Future[Any]]]] = {}

    def submit(self, key: tuple[str, ...], call: tuple[Any, ...]) -> Any:
        """The ticket of one call; waits in this thread."""
        with self._session.controller._blocking():
            future = self._enter(key, call)
        try:
            return future.result(_MOMENT)
        except TimeoutError:
            with self._session.controller._blocking():
                self._flush(key)
            return future.result()
        except BaseException:
            _withdraw(future)
            raise

    async def submit_async(self, key: tuple[str, ...], call: tuple[Any, ...]) -> Any:
        """The ticket of one call; waits without blocking the event loop."""
        future = self._enter(key, call)
        waiting = asyncio.wrap_future(future)
        timer = asyncio.get_running_loop().call_later(_MOMENT, self._flush, key)
        try:
            return await waiting
        except asyncio.CancelledError:
            _withdraw(future)
            raise
        finally:
            timer.cancel()

    def _enter(self, key: tuple[str, ...], call: tuple[Any, ...]) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            waiting = self._waiting.setdefault(key, [])
            waiting.append((call, future))
            complete = len(waiting) >= len(key)
        if complete:
            self._flush(key)
        return future

    def _flush(self, key: tuple[str, ...]) -> None:
        with self._lock:
            waiting = self._waiting.pop(key, [])
        waiting = [(call, future) for call, future in waiting if future.set_running_or_notify_cancel()]
        if not waiting:
            return
        # In the order of the message, however the threads came.
        waiting.sort(key=lambda each: key.index(each[0][2]["tool_call_id"]))
        try:
            tickets = self._session.submit([call for call, _ in waiting])
        except BaseException as error:  # noqa: BLE001 - every one of them learns it
            for _, future in waiting:
                future.set_exception(error)
            return
        for (_, future), ticket in zip(waiting, tickets, strict=True):
            future.set_result(ticket)


def _withdraw(future: Future[Any]) -> None:
    """A call that is no longer wanted takes its question with it, also if the ticket comes later."""
    if not future.cancel():
        future.add_done_callback(lambda done: None if done.exception() else done.result().cancel())
