"""Reads the answer that resumes a paused run.

The answer is a decision of askfirst, or has one of the forms that LangChain's clients send. Anything else is a refusal.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .._controller import ApprovalController
from .._types import ApprovalDecision, ApprovalRequest

_FIELDS = frozenset({"approved", "note", "remember", "scope", "edited_args", "pattern", "cause", "rest_unseen", "stop"})


def question(request: ApprovalRequest, tool_call_id: str | None) -> dict[str, Any]:
    """Return the question that a paused run shows, as JSON in the form of LangChain's own questions."""
    return {
        "type": "tool_approval",
        "tool_call_id": tool_call_id,
        "name": request.tool_name,
        "args": dict(request.args),
        "description": request.description,
        "payload": request.payload,
        "risk": str(request.risk),
    }


def decision_from(answer: Any, tool_name: str) -> ApprovalDecision:
    """Convert an answer to a decision. Raise if it is invalid."""
    if isinstance(answer, ApprovalDecision):
        return answer
    if not isinstance(answer, Mapping):
        raise TypeError(f"expected a decision, not {type(answer).__name__}")
    if "decisions" in answer:
        decisions = answer["decisions"]
        if not isinstance(decisions, list) or len(decisions) != 1:
            raise ValueError("expected exactly one decision")
        return decision_from(decisions[0], tool_name)
    if "type" in answer:
        return _of_type(answer, tool_name)
    if unknown := set(answer) - _FIELDS:
        raise ValueError(f"unknown field `{sorted(map(str, unknown))[0]}`")
    if not isinstance(answer.get("approved"), bool):
        raise ValueError("`approved` must be true or false")
    return ApprovalDecision(**answer)


def _of_type(answer: Mapping[str, Any], tool_name: str) -> ApprovalDecision:
    kind, remember = answer["type"], answer.get("remember", "none")
    if kind == "approve":
        return ApprovalDecision(approved=True, remember=remember)
    if kind == "reject":
        return ApprovalDecision(approved=False, note=answer.get("message"))
    if kind == "edit":
        action = answer.get("edited_action")
        if not isinstance(action, Mapping) or not isinstance(action.get("args"), Mapping):
            raise ValueError("an edit must have `edited_action` with `args`")
        if action.get("name", tool_name) != tool_name:
            raise ValueError(f"the edit is for another tool: `{action.get('name')}`")
        return ApprovalDecision(approved=True, edited_args=dict(action["args"]), remember=remember)
    raise ValueError(f"`type` must be approve, edit or reject, not `{kind}`")


def decision_or_refusal(answer: Any, tool_name: str) -> ApprovalDecision:
    """Convert an answer to a decision. An invalid answer is a refusal."""
    try:
        return decision_from(answer, tool_name)
    except (TypeError, ValueError) as error:
        return ApprovalDecision(approved=False, note=f"invalid answer: {error}", cause="approver_failed")


class Answers:
    """The approver of paused runs. It keeps the answer to each call under a token that its request carries."""

    def __init__(self) -> None:
        self._held: dict[str, ApprovalDecision | None] = {}

    def controller(self, like: ApprovalController) -> ApprovalController:
        """Return a controller with the mode and memory of another one, and this approver."""
        return ApprovalController(mode=like.mode, approval_callback=self._ask, memory=like.memory)

    @contextmanager
    def holding(self, answer: ApprovalDecision | None) -> Iterator[str]:
        """Return a token for an answer, valid while the block runs."""
        token = f"paused-{secrets.token_hex(8)}"
        self._held[token] = answer
        try:
            yield token
        finally:
            del self._held[token]

    def _ask(self, request: ApprovalRequest) -> ApprovalDecision:
        answer = self._held.get(request.group_id or "")
        if answer is None:
            raise LookupError("the run was resumed without an answer to this call")
        if answer.edited_args is not None and dict(request.args) == dict(answer.edited_args):
            # The person wrote these arguments, so this is the answer to them.
            return ApprovalDecision(approved=True, remember=answer.remember, note=answer.note)
        return answer
