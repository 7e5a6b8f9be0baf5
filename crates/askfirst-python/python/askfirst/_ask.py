"""Asks an approval callback.

A sync callback runs on its own thread. An async one runs on the event loop that made the call, or on a loop of its own.
Both run in the `contextvars` of the call. An exception, a value that is not a decision and a canceled task count as a
refusal.
"""

from __future__ import annotations

import contextvars
import inspect
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from . import _askfirst
from ._log import log_failure
from ._types import ApprovalRequest, decision_to_native, request_from_native

if TYPE_CHECKING:
    import asyncio
    from typing import TypeAlias

    Here: TypeAlias = tuple[contextvars.Context, asyncio.AbstractEventLoop | None]

_local = threading.local()


def here() -> Here:
    """Return the context of this call, and its event loop unless the caller is about to block it."""
    loop = None
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and not getattr(_local, "blocking", 0):
        loop = asyncio._get_running_loop()
    return contextvars.copy_context(), loop


class _BlockingSection:
    """Marks a thread that will wait for the answer. Its event loop cannot run a callback meanwhile."""

    def __enter__(self) -> None:
        _local.blocking = getattr(_local, "blocking", 0) + 1

    def __exit__(self, *error: object) -> None:
        _local.blocking -= 1


class Asker:
    """Passes questions from the native half to a callback."""

    blocking_section = _BlockingSection()

    def __init__(self, callback: Callable[..., Any]) -> None:
        self.callback = callback
        called = getattr(callback, "__call__", None)  # noqa: B004
        self.is_async = inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(called)
        self.takes_many = getattr(callback, "takes_many", False) is True
        self._open: dict[int, Callable[[], object]] = {}

    def ask(
        self,
        number: int,
        requests: list[dict[str, Any]],
        answer: _askfirst.Answer,
        origin: Here | None,
    ) -> None:
        """Start to ask. Must return without waiting."""
        context, loop = origin if origin is not None else (contextvars.Context(), None)
        context = context.copy()
        work = self._answer(requests, answer, loop)
        if self.is_async:
            self._on_loop(number, work, context, loop)
        else:
            # The coroutine of a sync callback never suspends.
            thread = threading.Thread(target=context.run, args=(_run_to_end, work), daemon=True)
            thread.name = "askfirst-callback"
            thread.start()

    def withdraw(self, number: int, cause: str) -> None:
        """Stop asking."""
        cancel = self._open.pop(number, None)
        if cancel is not None:
            cancel()

    def _on_loop(
        self,
        number: int,
        work: Coroutine[Any, Any, None],
        context: contextvars.Context,
        loop: asyncio.AbstractEventLoop | None,
    ) -> None:
        found = _usable(loop)
        tasks: list[asyncio.Task[None]] = []

        def start() -> None:
            task = found.create_task(work)
            tasks.append(task)
            task.add_done_callback(lambda task: self._open.pop(number, None) and None)

        def cancel() -> None:
            if tasks:
                tasks[0].cancel()
            else:
                work.close()

        def cancel_there() -> None:
            try:
                found.call_soon_threadsafe(cancel)
            except RuntimeError:
                pass  # The loop is closed, so the task is gone.

        self._open[number] = cancel_there
        try:
            found.call_soon_threadsafe(start, context=context)
        except RuntimeError:
            self._open.pop(number, None)
            work.close()
            raise

    async def _answer(
        self,
        requests: list[dict[str, Any]],
        answer: _askfirst.Answer,
        loop: asyncio.AbstractEventLoop | None,
    ) -> None:
        try:
            asked = [request_from_native(request) for request in requests]
            if not self.takes_many:
                for request in asked:
                    # After a no that ends the run, the native half refuses the others.
                    if not answer.add(_decision(await self._call(request, loop), request)):
                        break
                return
            said = await self._call(asked, loop)
            answers = list(said) if isinstance(said, (list, tuple)) else [said] * len(asked)
            if len(answers) != len(asked):
                raise ValueError(f"expected {len(asked)} decisions, got {len(answers)}")
            answer.send([_decision(one, request) for one, request in zip(answers, asked)])
        except BaseException as error:
            text, name = str(error), type(error).__name__
            answer.fail(f"the callback failed: {name}: {text}" if text else f"the callback failed: {name}")
            if not isinstance(error, Exception):
                raise
            log_failure("the approval callback failed", error)

    async def _call(self, asked: Any, loop: asyncio.AbstractEventLoop | None) -> Any:
        said = self.callback(asked)
        if not inspect.isawaitable(said):
            return said
        if self.is_async:
            return await said
        # A sync callback on its own thread returned an awaitable.
        import asyncio

        return asyncio.run_coroutine_threadsafe(_await(said), _usable(loop)).result()


def _decision(said: Any, request: ApprovalRequest) -> dict[str, Any]:
    made = decision_to_native(said)
    edited = made.get("edited_args")
    # Arguments equal to those of the request are not an edit.
    if edited is not None and _askfirst.to_json(edited, True) == _askfirst.to_json(request.args, True):
        del made["edited_args"]
    return made


def _run_to_end(work: Coroutine[Any, Any, None]) -> None:
    try:
        work.send(None)
    except BaseException:  # noqa: BLE001 - `_answer` has reported the error
        return
    work.close()


async def _await(said: Any) -> Any:
    return await said


def _usable(loop: asyncio.AbstractEventLoop | None) -> asyncio.AbstractEventLoop:
    return loop if loop is not None and loop.is_running() else _own_loop()


_own: tuple[int, asyncio.AbstractEventLoop] | None = None
_own_lock = threading.Lock()


def _own_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop on its own thread, for async callbacks of programs without a running loop."""
    import asyncio

    global _own
    with _own_lock:
        if _own is None or _own[0] != os.getpid():
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="askfirst-loop", daemon=True).start()
            _own = (os.getpid(), loop)
        return _own[1]
