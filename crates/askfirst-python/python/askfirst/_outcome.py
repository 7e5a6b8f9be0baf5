"""Outcomes of calls: refusals as exceptions and as texts for the agent, and failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._types import ApprovalDecision, Value, decision_from_native


class ApprovalDenied(PermissionError):
    """A refused call. ``cause`` is who or what refused it."""

    def __init__(
        self,
        message: str,
        *,
        tool_name: str = "",
        cause: str = "person",
        reason: str | None = None,
        note: str | None = None,
        because: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        super().__init__(message)
        self.tool_name = tool_name
        self.cause = cause
        self.reason = message if reason is None else reason
        self.note = note
        self.because = [dict(part) for part in because]

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args[0], self.__dict__)


def _again(cls: type[ApprovalDenied], message: str, fields: dict[str, Any]) -> ApprovalDenied:
    return cls(message, **fields)


class ApprovalBlocked(ApprovalDenied):
    """A call that the tool or the policy refuses without asking."""


class ToolFailed(RuntimeError):
    """A tool of the config failed, or askfirst could not log how a tool ended. ``result`` may have its result."""

    def __init__(self, message: str, *, kind: str = "failed", result: Any = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.result = result


class Denied(str):
    """The refusal of a call as a text for the agent. Its parts are attributes.

    >>> no = Denied("`rm` was refused (person): not today", tool_name="rm", cause="person", reason="not today")
    >>> print(no, no.cause, sep=" | ")
    `rm` was refused (person): not today | person
    """

    tool_name: str
    cause: str
    reason: str
    note: str | None
    because: list[dict[str, Any]]
    ends_run: bool

    def __new__(
        cls,
        message: str,
        *,
        tool_name: str = "",
        cause: str = "person",
        reason: str | None = None,
        note: str | None = None,
        because: Sequence[Mapping[str, Any]] = (),
        ends_run: bool = False,
    ) -> Denied:
        made = super().__new__(cls, message)
        made.tool_name = tool_name
        made.cause = cause
        made.reason = message if reason is None else reason
        made.note = note
        made.because = [dict(part) for part in because]
        made.ends_run = ends_run
        return made

    def error(self) -> ApprovalDenied:
        """Return the refusal as an exception."""
        kind = ApprovalBlocked if self.cause == "policy" else ApprovalDenied
        return kind(str(self), **{key: value for key, value in self.__dict__.items() if key != "ends_run"})

    def __reduce__(self) -> tuple[Any, ...]:
        return _denied, (str(self), self.__dict__)


class Outcome(Value):
    """The outcome of a call: ``kind`` is ``done``, ``denied`` or ``failed``, or ``decided`` for a question.

    ``text`` describes a refusal or failure for the agent. ``error`` is the kind of failure.
    """

    __slots__ = ("kind", "result", "text", "tool_name", "cause", "reason", "note", "because", "ends_run", "error", "decision")
    kind: str
    result: Any
    text: str
    tool_name: str
    cause: str | None
    reason: str
    note: str | None
    because: list[dict[str, Any]]
    ends_run: bool
    error: str | None
    decision: ApprovalDecision | None

    def __init__(
        self,
        kind: str,
        *,
        result: Any = None,
        text: str = "",
        tool_name: str = "",
        cause: str | None = None,
        reason: str = "",
        note: str | None = None,
        because: Sequence[Mapping[str, Any]] = (),
        ends_run: bool = False,
        error: str | None = None,
        decision: ApprovalDecision | None = None,
    ) -> None:
        self._set(
            kind=kind,
            result=result,
            text=text,
            tool_name=tool_name,
            cause=cause,
            reason=reason,
            note=note,
            because=[dict(part) for part in because],
            ends_run=ends_run,
            error=error,
            decision=decision,
        )

    def denied(self) -> Denied | None:
        """Return the refusal for the agent, or ``None`` if the call was not refused."""
        if self.kind != "denied":
            return None
        parts: dict[str, Any] = {"tool_name": self.tool_name, "reason": self.reason, "note": self.note}
        return Denied(self.text, cause=self.cause or "policy", because=self.because, ends_run=self.ends_run, **parts)


def outcome_from_native(fields: dict[str, Any]) -> Outcome:
    """Convert an outcome from the native half."""
    decision = fields.pop("decision", None)
    return Outcome(**fields, decision=None if decision is None else decision_from_native(decision))


def _denied(message: str, fields: dict[str, Any]) -> Denied:
    return Denied(message, **fields)
