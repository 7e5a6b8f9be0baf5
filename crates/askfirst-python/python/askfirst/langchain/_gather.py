"""Collects the calls of one model message, so that a person sees them in one dialog.

LangGraph starts each call of a message as its own task, in a thread or on an event loop. The calls are submitted
together when all have arrived, or after a moment. A later call asks alone.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import Any

from .._session import Session

_MOMENT = 0.05
"""How many seconds the first call waits for the others."""


class Gathering:
    """The calls that wait for others, by the ids of all calls of one message."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, ...], list[tuple[Any, Future[Any]]]] = {}

    def submit(self, key: tuple[str, ...], call: tuple[Any, ...]) -> Any:
        """Submit a call together with the others of its message, and return its ticket. Blocks this thread."""
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
        """Async version of `submit`."""
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
        # In the order of the message, not of the threads.
        waiting.sort(key=lambda each: key.index(each[0][2]["tool_call_id"]))
        try:
            tickets = self._session.submit([call for call, _ in waiting])
        except BaseException as error:  # noqa: BLE001 - every waiting call gets it
            for _, future in waiting:
                future.set_exception(error)
            return
        for (_, future), ticket in zip(waiting, tickets, strict=True):
            future.set_result(ticket)


def _withdraw(future: Future[Any]) -> None:
    """Cancel the ticket of a call that no one waits for, also if the ticket comes later."""
    if not future.cancel():
        future.add_done_callback(lambda done: None if done.exception() else done.result().cancel())
