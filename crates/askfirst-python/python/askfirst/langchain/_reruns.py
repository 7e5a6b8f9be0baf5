"""Approvals for LangGraph tasks that run again.

When a tool calls ``interrupt``, LangGraph runs its task again from the start after the run is resumed. The task then
makes the same tool calls again. A person who approved one of them is not asked about it again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from .. import _askfirst

_MOST_TASKS = 256


class ApprovedCall(NamedTuple):
    """A call that a person approved, with the arguments that it ran with."""

    approval: _askfirst.Approval
    args: dict[str, Any]
    edited: bool
    notice: str | None


class Reruns:
    """The approved calls of the latest tasks. They count only after a tool interrupted their task."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks: OrderedDict[tuple[str, str], dict[tuple[str, str, str], ApprovedCall]] = OrderedDict()
        self._interrupted: set[tuple[str, str]] = set()

    def keep(
        self,
        config: Any,
        call_id: str | None,
        name: str,
        args: Any,
        ticket: _askfirst.Ticket,
        rerun: ApprovedCall | None = None,
    ) -> None:
        """Keep the approval of a call that starts to run, for the case that its task runs again."""
        task, approval = _task_of(config), ticket.approval
        if task is None or call_id is None or approval is None:
            return
        edited, notice = ticket.edited, ticket.notice
        if rerun is not None:
            edited, notice = edited or rerun.edited, rerun.notice or notice
        approved = ApprovedCall(approval, dict(ticket.args), edited, notice)
        with self._lock:
            self._tasks.setdefault(task, {})[call_id, name, _askfirst.to_json(args)] = approved
            self._tasks.move_to_end(task)
            while len(self._tasks) > _MOST_TASKS:
                self._interrupted.discard(self._tasks.popitem(last=False)[0])

    def interrupt(self, config: Any) -> None:
        """Note that a tool interrupted a task, so that the task will run again."""
        task = _task_of(config)
        with self._lock:
            if task is not None and task in self._tasks:
                self._interrupted.add(task)

    def take(self, config: Any, call_id: str | None, name: str, args: Any) -> ApprovedCall | None:
        """Return the approval of a call if its task was interrupted and runs again. It counts once."""
        task = _task_of(config)
        if task is None or call_id is None or task not in self._interrupted:
            return None
        with self._lock:
            return self._tasks.get(task, {}).pop((call_id, name, _askfirst.to_json(args)), None)


def _task_of(config: Any) -> tuple[str, str] | None:
    """Return an id of the LangGraph task that is the same when the task runs again."""
    configurable = config.get("configurable") if isinstance(config, Mapping) else None
    if not isinstance(configurable, Mapping):
        return None
    thread, task = configurable.get("thread_id"), configurable.get("checkpoint_ns")
    return (str(thread), str(task)) if thread is not None and task else None
