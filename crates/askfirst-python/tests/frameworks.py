"""Scripted models and people for the tests with real frameworks. No network, no clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from askfirst import ApprovalDecision, ApprovalRequest


class Person:
    """Answers requests from a list, in order, and keeps them. Without answers left, it says no."""

    def __init__(self, *answers: Any, each: Callable[[ApprovalRequest], Any] | None = None) -> None:
        self.answers = list(answers)
        self.each = each
        self.asked: list[ApprovalRequest] = []

    def __call__(self, request: ApprovalRequest) -> Any:
        self.asked.append(request)
        if self.each is not None:
            return self.each(request)
        return self.answers.pop(0) if self.answers else no("out of answers")

    @property
    def names(self) -> list[str]:
        return [request.tool_name for request in self.asked]


class Board:
    """Answers groups of requests, and keeps the groups."""

    takes_many = True

    def __init__(self, each: Callable[[ApprovalRequest], Any]) -> None:
        self.each = each
        self.groups: list[list[ApprovalRequest]] = []

    def __call__(self, requests: list[ApprovalRequest]) -> list[Any]:
        self.groups.append(list(requests))
        return [self.each(request) for request in requests]


def yes(**more: Any) -> ApprovalDecision:
    return ApprovalDecision(approved=True, **more)


def no(note: str | None = None) -> ApprovalDecision:
    return ApprovalDecision(approved=False, note=note)


def edit(**args: Any) -> ApprovalDecision:
    return ApprovalDecision(approved=True, edited_args=args)


def scripted(*steps: Any) -> Any:
    """A PydanticAI model that makes the calls of each step, then says ``done``.

    A step is a list of ``(tool, args)``. ``model.returns`` has the results: ``(tool, content, outcome)``.
    """
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    left = list(steps)
    returns: list[tuple[str, Any, str]] = []

    def respond(messages: list[Any], _info: Any) -> ModelResponse:
        returns[:] = tool_returns(messages)
        if not left:
            return ModelResponse(parts=[TextPart("done")])
        calls = left.pop(0)
        start = sum(len(getattr(message, "parts", ())) for message in messages)
        parts = [ToolCallPart(name, args, tool_call_id=f"c{start}-{at}") for at, (name, args) in enumerate(calls)]
        return ModelResponse(parts=parts)

    model = FunctionModel(respond)
    model.returns = returns  # type: ignore[attr-defined]
    return model


def tool_returns(messages: Iterable[Any]) -> list[tuple[str, Any, str]]:
    found = []
    for message in messages:
        for part in getattr(message, "parts", ()):
            if part.part_kind == "tool-return":
                found.append((part.tool_name, part.content, part.outcome))
    return found


def chat(*steps: Any) -> Any:
    """A LangChain model that makes the calls of each step, then says ``done``."""
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

    messages = []
    for at, step in enumerate(steps):
        calls = [{"name": name, "args": args, "id": f"c{at}-{n}"} for n, (name, args) in enumerate(step)]
        messages.append(AIMessage("", tool_calls=calls))
    return Scripted(messages=iter([*messages, AIMessage("done")]))
