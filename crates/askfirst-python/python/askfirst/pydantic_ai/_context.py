"""Reads the facts about a call from PydanticAI's objects, and changes none of them.

The facts are the caller, the run and step, and the nested toolset that owns the tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_ai.messages import ToolCallPart
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, PrefixedToolset, RenamedToolset, WrapperToolset
from pydantic_ai.toolsets.function import FunctionToolsetTool


def metadata_of(ctx: Any, *, batch: bool = False) -> dict[str, Any]:
    """Return ``run_id``, ``session_id``, ``caller`` and other metadata of a call, as far as they are known."""
    known: dict[str, Any] = {}
    if ctx is None:
        return known
    if ctx.run_id is not None:
        known["run_id"] = str(ctx.run_id)
    if ctx.tool_call_id is not None:
        known["tool_call_id"] = str(ctx.tool_call_id)
    deps = ctx.deps
    if deps is not None:
        if (session_id := _field(deps, "session_id")) is not None:
            known["session_id"] = str(session_id)
        if (caller := _field(deps, "worker_name")) is not None:
            known["caller"] = str(caller)
    if "caller" not in known and (agent := getattr(ctx, "agent", None)) is not None and agent.name is not None:
        known["caller"] = str(agent.name)
    if batch:
        known["batch_id"] = batch_id(ctx)
    return known


def batch_id(ctx: Any) -> str:
    """Return the same id for all calls of one model response."""
    return f"{getattr(ctx, 'run_id', None) or 'run'}/{getattr(ctx, 'run_step', 0)}"


def has_siblings(ctx: Any) -> bool:
    """Return whether the model made other calls in the same response."""
    messages = getattr(ctx, "messages", None)
    if not messages:
        return False
    parts = getattr(messages[-1], "parts", ())
    return len(parts) > 1 and sum(isinstance(part, ToolCallPart) for part in parts) > 1


def call_key(ctx: Any) -> str | None:
    """Return an id of the call that is unique among all runs, or ``None``."""
    if ctx is None or ctx.tool_call_id is None or ctx.run_id is None:
        return None
    return f"{ctx.run_id}/{ctx.tool_call_id}"


def tools_of_agent(ctx: Any) -> set[str]:
    """Return the names of all tools that the agent offers in this step."""
    return set(getattr(getattr(ctx, "tool_manager", None), "tools", None) or ())


def is_silent(toolset: Any, tool: Any) -> bool:
    """Return whether a tool is a plain function in a plain function toolset, and neither assesses its calls."""
    if type(toolset) is not FunctionToolset or type(tool) is not FunctionToolsetTool or tool.toolset is not toolset:
        return False
    own = toolset.__dict__
    if "check_approval" in own or "needs_approval" in own:
        return False
    try:
        function = tool.call_func.__self__.function  # type: ignore[attr-defined]
    except AttributeError:
        return False
    return function is not None and not hasattr(function, "check_approval")


def chain_of(toolset: Any, name: str, tool: Any) -> list[tuple[Any, str]]:
    """Return the nested toolsets down to the one that owns a tool, each with the tool's name there."""
    chain: list[tuple[Any, str]] = []
    while isinstance(toolset, AbstractToolset):
        chain.append((toolset, name))
        source = getattr(tool, "source_toolset", None)
        if isinstance(toolset, PrefixedToolset):
            name = name.removeprefix(f"{toolset.prefix}_")
        elif isinstance(toolset, RenamedToolset):
            name = toolset.name_map.get(name, name)
        if isinstance(toolset, WrapperToolset):
            toolset = toolset.wrapped
        elif source is not None and _is_new(source, chain):
            toolset, tool = source, getattr(tool, "source_tool", None)
        else:
            break
    provider = getattr(tool, "toolset", None)
    if provider is not None and _is_new(provider, chain):
        chain.append((provider, name))
    return chain


def _is_new(toolset: Any, chain: list[tuple[Any, str]]) -> bool:
    return all(toolset is not each for each, _ in chain)


def definition_of_server(tool_def: Any) -> dict[str, Any] | None:
    """Return the definition of an MCP tool, or ``None`` for other tools.

    A remembered approval does not cover a tool that the server has changed.
    """
    metadata = tool_def.metadata
    if not isinstance(metadata, Mapping) or "annotations" not in metadata or "meta" not in metadata:
        return None
    hints = metadata["annotations"] if isinstance(metadata["annotations"], Mapping) else {}
    destructive = hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True
    return {
        "name": tool_def.name,
        "description": tool_def.description or "",
        "input_schema": dict(tool_def.parameters_json_schema),
        "risk": "high" if destructive else "low",
    }


def function_of(tool: Any) -> Any:
    """Return the Python function of a tool in a ``FunctionToolset``, or ``None``."""
    while (source := getattr(tool, "source_tool", None)) is not None:
        tool = source
    return getattr(getattr(getattr(tool, "call_func", None), "__self__", None), "function", None)


def _field(deps: Any, name: str) -> Any:
    if isinstance(deps, Mapping):
        return deps.get(name)
    return getattr(deps, name, None)
