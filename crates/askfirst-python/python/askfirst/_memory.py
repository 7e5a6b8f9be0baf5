"""Remembered decisions of a session."""

from __future__ import annotations

from typing import Any

from . import _askfirst
from ._types import ApprovalDecision, decision_from_native, decision_to_native


class ApprovalMemory:
    """What was decided for the session, by tool and payload. Several controllers may share one.

    >>> memory = ApprovalMemory()
    >>> memory.store("rm", {"path": "a"}, ApprovalDecision(approved=True, remember="session"))
    >>> memory.lookup("rm", {"path": "a"}).approved
    True
    >>> memory.lookup("rm", {"path": "b"}) is None
    True
    """

    __slots__ = ("_native", "__weakref__")

    def __init__(self, *, expire: float | None = None) -> None:
        if expire is not None and not expire >= 0:
            raise ValueError("`expire` must be a number of seconds that is not negative")
        self._native = _askfirst.Memory(expire)

    def lookup(self, tool_name: str, args: Any) -> ApprovalDecision | None:
        """The decision remembered for a tool and a payload."""
        found = self._native.lookup(tool_name, args)
        return None if found is None else decision_from_native(found)

    def store(self, tool_name: str, args: Any, decision: ApprovalDecision) -> None:
        """Remembers a decision, if it says that it is to be remembered."""
        self._native.store(tool_name, args, decision_to_native(decision))

    def clear(self) -> None:
        """Forgets everything."""
        self._native.clear()

    def list(self) -> list[dict[str, Any]]:
        """What is remembered, oldest first."""
        return self._native.list()

    def revoke(self, number: int) -> bool:
        """Forgets one decision by its ``id``. Says whether there was one."""
        return self._native.revoke(number)

    def __len__(self) -> int:
        return len(self._native.list())

    def __bool__(self) -> bool:
        # An empty memory is one all the same: `memory or ApprovalMemory()` must not throw it away.
        return True

    def __repr__(self) -> str:
        return f"<askfirst.ApprovalMemory of {len(self)}>"


class ReadOnlyMemory:
    """The memory as ``check_approval(tool_name, args, memory)`` gets it: to look at, not to change."""

    __slots__ = ("_memory",)

    def __init__(self, memory: ApprovalMemory) -> None:
        self._memory = memory

    def lookup(self, tool_name: str, args: Any) -> ApprovalDecision | None:
        """The decision remembered for a tool and a payload."""
        return self._memory.lookup(tool_name, args)

    def list(self) -> list[dict[str, Any]]:
        """What is remembered, oldest first."""
        return self._memory.list()

    def __len__(self) -> int:
        return len(self._memory)

    def __bool__(self) -> bool:
        return True

    def store(self, tool_name: str, args: Any, decision: ApprovalDecision) -> None:
        """Refused: a tool does not decide for the person."""
        raise PermissionError("a tool may look at the memory, not change it")

    def clear(self) -> None:
        """Refused."""
        raise PermissionError("a tool may look at the memory, not change it")
