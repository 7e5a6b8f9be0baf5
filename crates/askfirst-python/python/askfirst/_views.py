"""Combines the views of one call: those of toolsets, of functions, and of ``needs_approval`` in any form.

A view is a function ``(tool_name, args, metadata)``. The strictest of several views counts: each of them can block the
call or ask. Views know nothing about modes, memory or terminals.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from . import _assess

View = Callable[[str, dict[str, Any], dict[str, Any]], Any]


def converted(said: Any, tool_name: str, args: Mapping[str, Any]) -> Any:
    """Convert what a ``needs_approval`` returned for the native half."""
    status = getattr(said, "status", None)
    if status == "blocked":
        raise PermissionError(getattr(said, "block_reason", None) or "blocked by the tool")
    if status in ("pre_approved", "needs_approval"):
        return status == "needs_approval"
    return _assess.view(said, tool_name, args)


def needs(speaker: Callable[..., Any], tool_name: str, run_context: Any, config: Mapping[str, Any]) -> View:
    """Return the view of a toolset's ``needs_approval(name, args[, ctx[, config]])``, sync or async."""

    def view(_name: str, args: dict[str, Any], _metadata: dict[str, Any]) -> Any:
        wanted = min(max(count_parameters(speaker), 2), 4)
        said = speaker(*(tool_name, args, run_context, config)[:wanted])
        return converted(run_apart(said) if inspect.isawaitable(said) else said, tool_name, args)

    return view


def named(view: View, tool_name: str) -> View:
    """Return the same view, which then gets the name of the tool inside its toolset."""
    return lambda _name, args, metadata: view(tool_name, args, metadata)


def strictest(views: list[View]) -> View | None:
    """Combine several views into one, or ``None`` if there are none. The first of several requests is shown."""
    if len(views) < 2:
        return views[0] if views else None

    def view(name: str, args: dict[str, Any], metadata: dict[str, Any]) -> Any:
        said = [each(name, args, metadata) for each in views]
        requests = [each for each in said if each is not None and not isinstance(each, bool)]
        if requests:
            return requests[0]
        return True if True in said else False if False in said else None

    return view


def run_apart(awaitable: Any) -> Any:
    """Run an awaitable on its own thread and event loop, and return its result."""
    box: list[tuple[bool, Any]] = []

    async def whole() -> Any:
        return await awaitable

    def run() -> None:
        try:
            box.append((True, asyncio.run(whole())))
        except BaseException as error:
            box.append((False, error))

    thread = threading.Thread(target=run, name="askfirst-check", daemon=True)
    thread.start()
    thread.join()
    good, value = box[0]
    if good:
        return value
    raise value


def count_parameters(function: Callable[..., Any]) -> int:
    """Return the number of positional parameters, without ``self``."""
    bound = getattr(function, "__func__", None)
    return _positional(function) if bound is None else _positional(bound) - 1


@lru_cache(maxsize=1024)
def _positional(function: Callable[..., Any]) -> int:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(parameter.kind in kinds for parameter in inspect.signature(function).parameters.values())
