"""Puts approval around a function, with the same signature."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from . import _assess
from ._session import Session, current_session, session as open_session

_default: Session | None = None


def guard(
    tool: Callable[..., Any], *, name: str | None = None, session: Session | None = None
) -> Callable[..., Any]:
    """Return a function with the same signature whose calls go through askfirst.

    Its calls go through ``session``, or else through the session of the ``with`` block around the call, or else through
    one with the config in force.
    """
    if not callable(tool):
        raise TypeError(f"expected a function, not {type(tool).__name__}")
    tool_name = name or getattr(tool, "__name__", None) or type(tool).__name__
    signature = inspect.signature(tool)

    def of_session() -> tuple[Session, Any]:
        found = session or current_session() or _in_force()
        return found, _assess.of(tool, found.controller.memory)

    if inspect.iscoroutinefunction(tool) or inspect.iscoroutinefunction(getattr(tool, "__call__", None)):

        @functools.wraps(tool)
        async def guarded_async(*given: Any, **named: Any) -> Any:
            found, assess = of_session()
            args = _as_args(signature, given, named)
            run = functools.partial(_run, tool, signature, args, given, named)
            return await found.run_async(tool_name, args, _by_dict(run), assess=assess)

        return guarded_async

    @functools.wraps(tool)
    def guarded(*given: Any, **named: Any) -> Any:
        found, assess = of_session()
        args = _as_args(signature, given, named)
        run = functools.partial(_run, tool, signature, args, given, named)
        return found.run(tool_name, args, _by_dict(run), assess=assess)

    return guarded


def _by_dict(run: Callable[[dict[str, Any]], Any]) -> Callable[..., Any]:
    return lambda **args: run(args)


def _as_args(signature: inspect.Signature, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments by name, as a person sees them."""
    args: dict[str, Any] = {}
    for key, value in signature.bind(*given, **named).arguments.items():
        kind = signature.parameters[key].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            args.update(value)
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            args[key] = list(value)
        else:
            args[key] = value
    return args


def _run(
    tool: Callable[..., Any],
    signature: inspect.Signature,
    before: dict[str, Any],
    given: tuple[Any, ...],
    named: dict[str, Any],
    args: dict[str, Any],
) -> Any:
    """Call the tool as the caller did, or with the arguments that a person edited."""
    if args.keys() == before.keys() and all(args[key] is before[key] for key in args):
        return tool(*given, **named)
    left = dict(args)
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for key, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD or key not in left:
            continue
        value = left.pop(key)
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.extend(value)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            keywords[key] = value
        else:
            positional.append(value) if len(keywords) == 0 else keywords.update({key: value})
    return tool(*positional, **keywords, **left)


def _in_force() -> Session:
    global _default
    import os

    if _default is None or _default_process != os.getpid():
        _default = open_session()
        globals()["_default_process"] = os.getpid()
    return _default


_default_process = 0
