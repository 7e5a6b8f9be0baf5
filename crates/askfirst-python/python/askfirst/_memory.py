"""The memory of a session."""

from __future__ import annotations

from typing import Any

from . import _askfirst
from ._types import ApprovalDecision, decision_from_native, decision_to_native


class ApprovalMemory:
    """The remembered decisions, by tool and payload. Several controllers may share one memory.

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
            raise ValueError("`expire` must be a number of seconds, at least 0")
        self._native = _askfirst.Memory(expire)

    def lookup(self, tool_name: str, args: Any) -> ApprovalDecision | None:
        """Return the decision that is remembered for a tool and a payload."""
        found = self._native.lookup(tool_name, args)
        return None if found is None else decision_from_native(found)

    def store(self, tool_name: str, args: Any, decision: ApprovalDecision) -> None:
        """Remember a decision if its ``remember`` says so."""
        self._native.store(tool_name, args, decision_to_native(decision))

    def clear(self) -> None:
        """Forget all decisions."""
        self._native.clear()

    def list(self) -> list[dict[str, Any]]:
        """Return the remembered decisions, oldest first."""
        return self._native.list()

    def revoke(self, number: int) -> bool:
        """Forget the decision with this ``id``. Return whether it existed."""
        return self._native.revoke(number)

    def __len__(self) -> int:
        return len(self._native.list())

    def __bool__(self) -> bool:
        # An empty memory is still a memory: `memory or ApprovalMemory()` must keep it.
        return True

    def __reduce__(self) -> Any:
        raise TypeError(not_picklable("ApprovalMemory"))

    def __copy__(self) -> ApprovalMemory:
        return self

    def __repr__(self) -> str:
        return f"<askfirst.ApprovalMemory of {len(self)}>"


def not_picklable(kind: str) -> str:
    """Return the error for an object that cannot leave its process."""
    return f"cannot pickle an {kind}: it belongs to this process; hint: create a new one in each process that needs one"


class ReadOnlyMemory:
    """The read-only memory that ``check_approval(tool_name, args, memory)`` gets."""

    __slots__ = ("_memory",)

    def __init__(self, memory: ApprovalMemory) -> None:
        self._memory = memory

    def lookup(self, tool_name: str, args: Any) -> ApprovalDecision | None:
        """Return the decision that is remembered for a tool and a payload."""
        return self._memory.lookup(tool_name, args)

    def list(self) -> list[dict[str, Any]]:
        """Return the remembered decisions, oldest first."""
        return self._memory.list()

    def __len__(self) -> int:
        return len(self._memory)

    def __bool__(self) -> bool:
        return True

    def store(self, tool_name: str, args: Any, decision: ApprovalDecision) -> None:
        """Raise ``PermissionError``: a tool cannot decide for the person."""
        raise PermissionError("a tool cannot change the memory")

    def clear(self) -> None:
        """Raise ``PermissionError``."""
        raise PermissionError("a tool cannot change the memory")
