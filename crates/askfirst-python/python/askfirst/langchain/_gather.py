"""Collects the calls of one model message, so that a person sees them in one dialog.

LangGraph starts each call of a message as its own task, in a thread or on an event loop. The calls are submitted
together when all have arrived, or after a moment. A later call asks alone.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import Hashable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, NamedTuple

from .._controller import ApprovalController
from .._session import Session, submit_together

_MOMENT = 0.05
"""How many seconds calls wait for another one of their message, if the ids of all are known."""

_LONG_MOMENT = 0.2
"""How many seconds they wait otherwise. Only calls that a person is asked about wait this long."""


_of_controller: weakref.WeakKeyDictionary[ApprovalController, Gathering] = weakref.WeakKeyDictionary()


def gathering_of(controller: ApprovalController) -> Gathering:
    """Return the gathering for the calls of one controller."""
    return _of_controller.setdefault(controller, Gathering())


class Siblings(NamedTuple):
    """The calls of one message: a key that they share, and their ids if they are known."""

    key: Hashable
    ids: tuple[str, ...] | None

    @property
    def moment(self) -> float:
        """How many seconds a call waits for another one."""
        return _LONG_MOMENT if self.ids is None else _MOMENT


class _Waiting(NamedTuple):
    session: Session
    call: tuple[Any, ...]
    future: Future[Any]
    since: float


class Gathering:
    """The calls that wait for others, by the message that they belong to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Hashable, list[_Waiting]] = {}

    def submit(self, session: Session, siblings: Siblings, call: tuple[Any, ...]) -> Any:
        """Submit a call together with the others of its message, and return its ticket. Blocks this thread."""
        with session.controller._blocking():
            future = self._enter(session, siblings, call)
        try:
            while True:
                try:
                    return future.result(siblings.moment)
                except FutureTimeoutError:
                    with session.controller._blocking():
                        self._flush_if_quiet(siblings)
        except BaseException:
            _withdraw(future)
            raise

    async def submit_async(self, session: Session, siblings: Siblings, call: tuple[Any, ...]) -> Any:
        """Async version of `submit`."""
        future = self._enter(session, siblings, call)
        waiting = asyncio.wrap_future(future)
        try:
            while True:
                done, _ = await asyncio.wait([waiting], timeout=siblings.moment)
                if done:
                    return waiting.result()
                self._flush_if_quiet(siblings)
        except asyncio.CancelledError:
            _withdraw(future)
            raise

    def _enter(self, session: Session, siblings: Siblings, call: tuple[Any, ...]) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            waiting = self._waiting.setdefault(siblings.key, [])
            waiting.append(_Waiting(session, call, future, time.monotonic()))
            complete = siblings.ids is not None and len(waiting) >= len(siblings.ids)
        if complete:
            self._flush(siblings)
        return future

    def _flush_if_quiet(self, siblings: Siblings) -> None:
        """Submit the waiting calls if no other call of the message has arrived for a moment."""
        with self._lock:
            waiting = self._waiting.get(siblings.key)
            # A little less than the moment, so that the timer of the last call counts.
            quiet = not waiting or time.monotonic() - waiting[-1].since >= siblings.moment * 0.9
        if quiet:
            self._flush(siblings)

    def _flush(self, siblings: Siblings) -> None:
        with self._lock:
            waiting = self._waiting.pop(siblings.key, [])
        waiting = [each for each in waiting if each.future.set_running_or_notify_cancel()]
        if not waiting:
            return
        if (ids := siblings.ids) is not None:
            # In the order of the message, not of the threads.
            waiting.sort(key=lambda each: ids.index(each.call[2]["tool_call_id"]))
        try:
            tickets = submit_together([(each.session, each.call) for each in waiting])
        except BaseException as error:  # noqa: BLE001 - every waiting call gets it
            for each in waiting:
                each.future.set_exception(error)
            return
        for each, ticket in zip(waiting, tickets, strict=True):
            each.future.set_result(ticket)


def _withdraw(future: Future[Any]) -> None:
    """Cancel the ticket of a call that no one waits for, also if the ticket comes later."""
    if not future.cancel():
        future.add_done_callback(lambda done: None if done.exception() else done.result().cancel())
