"""The decorator for functions whose calls need approval. It returns the same function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ._types import ApprovalContext, ApprovalPresentation, ApprovalRequest, Approval, Risk, simple_approval_request

if TYPE_CHECKING:
    _F = TypeVar("_F", bound=Callable[..., Any])
else:
    _F = TypeVar("_F")


@overload
def requires_approval(func: _F, /) -> _F: ...
@overload
def requires_approval(
    *,
    description: str | Callable[[dict[str, Any]], str] | None = ...,
    exclude_keys: Iterable[str] | None = ...,
    payload: Callable[[dict[str, Any]], Any] | None = ...,
    presentation: Callable[[dict[str, Any]], ApprovalPresentation | Mapping[str, Any] | None] | None = ...,
    risk: Risk = ...,
    approval: Approval = ...,
) -> Callable[[_F], _F]: ...
def requires_approval(
    func: Any = None,
    /,
    *,
    description: str | Callable[[dict[str, Any]], str] | None = None,
    exclude_keys: Iterable[str] | None = None,
    payload: Callable[[dict[str, Any]], Any] | None = None,
    presentation: Callable[[dict[str, Any]], ApprovalPresentation | Mapping[str, Any] | None] | None = None,
    risk: Risk = "low",
    approval: Approval = "required",
) -> Any:
    """Mark a function, sync or async: askfirst asks about its calls.

    The result is the same function with the attribute ``check_approval``. A direct call just runs it.

    >>> @requires_approval
    ... def delete(path: str) -> str:
    ...     return f"deleted {path}"
    >>> @requires_approval(description=lambda args: f"Send to {args['to']}", exclude_keys={"body"}, risk="irreversible")
    ... async def send(to: str, body: str) -> None: ...
    >>> delete("a")
    'deleted a'
    >>> send.check_approval(ApprovalContext("send", {"to": "ada", "body": "hi"})).payload
    {'to': 'ada'}
    """
    if func is not None and not callable(func):
        raise TypeError("@requires_approval takes a function; hint: pass options by name, such as description=…")
    if isinstance(exclude_keys, str):
        raise TypeError("`exclude_keys` must be a set or list of names, not a str")
    left_out = frozenset(exclude_keys or ())

    def mark(func: Any) -> Any:
        if not callable(func):
            raise TypeError("@requires_approval takes a function")

        def check_approval(ctx: ApprovalContext) -> ApprovalRequest:
            said = description(ctx.args) if callable(description) else description
            request = simple_approval_request(ctx.tool_name, ctx.args, description=said, exclude_keys=left_out)
            changes: dict[str, Any] = {"risk": risk, "approval": approval}
            if payload is not None:
                changes["payload"] = payload(ctx.args)
            if presentation is not None:
                changes["presentation"] = presentation(ctx.args)
            return request.replace(**changes)

        setattr(check_approval, "_askfirst_form", 1)
        setattr(func, "check_approval", check_approval)
        setattr(func, "_requires_approval", True)
        return func

    return mark if func is None else mark(func)
