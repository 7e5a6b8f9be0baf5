"""What a person answered to a paused run, read strictly.

Askfirst's own decisions and the forms that LangChain's clients send are understood; everything else is no answer, and
no answer is no approval.
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
    """What a paused run shows: plain JSON, in the shape of LangChain's own questions about one call."""
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
    """The decision that an answer stands for."""
    if isinstance(answer, ApprovalDecision):
        return answer
    if not isinstance(answer, Mapping):
        raise TypeError(f"the answer is {type(answer).__name__}, not a decision")
    if "decisions" in answer:
        decisions = answer["decisions"]
        if not isinstance(decisions, list) or len(decisions) != 1:
            raise ValueError("the answer holds not exactly one decision")
        return decision_from(decisions[0], tool_name)
    if "type" in answer:
        return _of_type(answer, tool_name)
    if unknown := set(answer) - _FIELDS:
        raise ValueError(f"the answer has an unknown field `{sorted(map(str, unknown))[0]}`")
    if not isinstance(answer.get("approved"), bool):
        raise ValueError("the answer does not say `approved: true` or `approved: false`")
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
            raise ValueError("the edit has no `edited_action` with `args`")
        if action.get("name", tool_name) != tool_name:
            raise ValueError(f"the edit names another tool: `{action.get('name')}`")
        return ApprovalDecision(approved=True, edited_args=dict(action["args"]), remember=remember)
    raise ValueError(f"the answer's type is `{kind}`, not approve, edit or reject")


def understood(answer: Any, tool_name: str) -> ApprovalDecision:
    """The decision that an answer stands for; a no where it stands for none."""
    try:
        return decision_from(answer, tool_name)
    except (TypeError, ValueError) as error:
        return ApprovalDecision(approved=False, note=f"the answer was not understood: {error}", cause="approver_failed")


class Answers:
    """The approver of paused runs: what each call was resumed with, by a token that its question carries."""

    def __init__(self) -> None:
        self._held: dict[str, ApprovalDecision | None] = {}

    def controller(self, like: ApprovalController) -> ApprovalController:
        """A controller with the mode and the memory of another, which asks here."""
        return ApprovalController(mode=like.mode, approval_callback=self._ask, memory=like.memory)

    @contextmanager
    def holding(self, answer: ApprovalDecision | None) -> Iterator[str]:
        """A token for which this answer is given, as long as the block lasts."""
        token = f"paused-{secrets.token_hex(8)}"
        self._held[token] = answer
        try:
            yield token
        finally:
            del self._held[token]

    def _ask(self, request: ApprovalRequest) -> ApprovalDecision:
        answer = self._held.get(request.group_id or "")
        if answer is None:
            raise LookupError("the run was not resumed with an answer to this call")
        if answer.edited_args is not None and dict(request.args) == dict(answer.edited_args):
            # Whoever put these arguments in has seen them.
            return ApprovalDecision(approved=True, remember=answer.remember, note=answer.note)
        return answer
