"""Converts a tool's own assessment of a call, in all its forms, to the form of the native half.

``None`` is silent, ``False`` is harmless, and ``True`` or a dict asks a person. An exception or any other value blocks
the call; a ``PermissionError`` gives the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from . import _json
from ._types import ApprovalContext, ApprovalRequest, request_to_native

if TYPE_CHECKING:
    from typing import TypeAlias

    from ._memory import ApprovalMemory

    Assess: TypeAlias = Callable[[str, dict[str, Any], dict[str, Any]], Any]


def view(said: Any, tool_name: str, args: Mapping[str, Any], *, nothing: bool | None = False) -> Any:
    """Convert what a tool returned about a call. ``nothing`` replaces ``None``: from ``check_approval`` it is harmless."""
    if said is None:
        return nothing
    if isinstance(said, bool):
        return said
    if isinstance(said, ApprovalRequest):
        return request_to_native(said)
    if hasattr(said, "__await__"):
        close = getattr(said, "close", None)
        if close is not None:
            close()
        raise TypeError("`check_approval` is async; hint: make it sync, only asking may wait")
    fields = _json.fields(said)
    fields.setdefault("tool_name", tool_name)
    if "payload" not in fields:
        left_out = fields.get("exclude_keys") or ()
        fields["payload"] = {key: value for key, value in args.items() if key not in left_out}
    if fields.get("description") is None:
        shown = ", ".join(f"{key}={value!r}" for key, value in _json.fields(fields["payload"]).items())
        fields["description"] = f"{tool_name}({shown})"
    return request_to_native(ApprovalRequest(**fields))


def of(
    tool: Any,
    memory: ApprovalMemory,
    *,
    run_context: Any = None,
    tool_def: Any = None,
) -> Assess | None:
    """Return the function that assesses the calls of a tool or toolset, or ``None`` without a ``check_approval``.

    The forms of ``check_approval`` are ``(ctx)``, ``(tool_name, args, memory)`` and ``(run_context, tool_def, args)``.
    """
    check = getattr(tool, "check_approval", None)
    if check is None or not callable(check):
        return None
    form = _form(check)
    if form == 1:
        return lambda name, args, metadata: view(check(ApprovalContext(name, args, metadata)), name, args)
    if form == 2:
        from ._memory import ReadOnlyMemory

        looked_at = ReadOnlyMemory(memory)
        return lambda name, args, metadata: view(check(name, args, looked_at), name, args)

    def in_run(name: str, args: dict[str, Any], metadata: dict[str, Any]) -> Any:
        context = ApprovalContext(name, args, metadata) if run_context is None else run_context
        return view(check(context, tool_def, args), name, args)

    return in_run


def _form(check: Callable[..., Any]) -> int:
    known = getattr(check, "_askfirst_form", None)
    if isinstance(known, int):
        return known
    import inspect

    try:
        parameters = inspect.signature(check).parameters.values()
    except (TypeError, ValueError):
        return 1
    named = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len([p for p in named if p.default is p.empty]) < 3 and len(named) < 3:
        return 1
    return 2 if named[2].name == "memory" or named[0].name in ("tool_name", "name") else 3
