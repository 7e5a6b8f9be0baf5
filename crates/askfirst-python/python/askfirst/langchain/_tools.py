"""Reads the facts about a call from LangChain's objects, and changes none of them.

The facts are the tool's own assessment, the metadata for the audit log, and the arguments that the model wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool

from .. import _askfirst, _assess, _views


def view_of(tool: Any, name: str, config: Any, memory: Any) -> _views.View | None:
    """Combine the views of a tool and of its function, or return ``None`` if there are none."""
    views: list[_views.View] = []
    for speaker in (tool, getattr(tool, "func", None), getattr(tool, "coroutine", None)):
        checked = _assess.of(speaker, memory)
        if checked is not None:
            views.append(_with_config(checked, config))
    if (needs := getattr(tool, "needs_approval", None)) is not None:
        views.append(_views.needs(needs, name, None, {}))
    return _views.strictest(views)


def _with_config(view: _views.View, config: Any) -> _views.View:
    """Return the same view, which then gets LangChain's config in its metadata."""
    if not config:
        return view
    return lambda name, args, metadata: view(name, args, {**metadata, "config": config})


def metadata_of(config: Any, tool_call_id: Any = None) -> dict[str, Any]:
    """Return the metadata of a call for the audit log, as plain text."""
    known: dict[str, Any] = {}
    if isinstance(config, Mapping):
        configurable = config.get("configurable")
        if isinstance(configurable, Mapping):
            _take(known, "session_id", configurable.get("session_id", configurable.get("thread_id")))
            _take(known, "caller", configurable.get("worker_name"))
        _take(known, "run_id", config.get("run_id"))
        metadata = config.get("metadata")
        if "caller" not in known and isinstance(metadata, Mapping):
            _take(known, "caller", metadata.get("lc_agent_name"))
    _take(known, "tool_call_id", tool_call_id)
    return known


def step_of(config: Any) -> tuple[str, ...] | None:
    """Return an id of the step of a graph, which is the same for all tool calls of one message and for no other call.

    Without an id of the run there is none, because concurrent runs may be at the same step.
    """
    metadata = config.get("metadata") if isinstance(config, Mapping) else None
    if not isinstance(metadata, Mapping) or "langgraph_step" not in metadata:
        return None
    configurable = config.get("configurable")
    if not isinstance(configurable, Mapping):
        return None
    # The ids of the graphs' latest checkpoints. LangGraph makes them without a checkpointer, too.
    checkpoints = configurable.get("checkpoint_map")
    if not isinstance(checkpoints, Mapping) or not checkpoints:
        return None
    run = [f"{graph}:{checkpoint}" for graph, checkpoint in sorted(checkpoints.items())]
    return (*run, str(metadata.get("langgraph_node")), str(metadata["langgraph_step"]))


def siblings_of(state: Any, tool_call_id: str | None) -> tuple[str, ...]:
    """Return the ids of the calls in the same message that have no result yet."""
    messages = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", state)
    if not isinstance(messages, (list, tuple)):
        return ()
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            ids = [str(call.get("id")) for call in message.tool_calls]
            return tuple(each for each in ids if each not in answered) if tool_call_id in ids else ()
    return ()


def invalid_args(tool: BaseTool, args: Mapping[str, Any]) -> ValueError | None:
    """Return the error about arguments that the tool cannot take, or ``None``."""
    try:
        schema: Any = tool.tool_call_schema
        if isinstance(schema, Mapping):
            why = _askfirst.check_args(schema, args)
            return None if why is None else ValueError(why)
        validate = getattr(schema, "model_validate", None) or schema.parse_obj
        validate(dict(args))
    except ValueError as error:  # Both versions of pydantic raise it.
        return error
    except Exception:  # noqa: BLE001 - the tool itself reports what is wrong with its schema
        return None
    return None


def in_words(error: ValueError) -> str:
    """Describe an error about arguments in one line."""
    errors: Any = getattr(error, "errors", None)
    if errors is None:
        return str(error)
    return "; ".join(f"{'.'.join(map(str, part['loc']))}: {part['msg']}" for part in errors())


def split_args(tool: BaseTool, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the arguments into those of the model and those that LangChain injected (state, store, runtime)."""
    try:
        visible = _fields(tool.tool_call_schema)
        known = _fields(tool.get_input_schema())
    except Exception:  # noqa: BLE001 - a tool without a schema shows everything
        return dict(given), {}
    injected = {key: value for key, value in given.items() if key in known and key not in visible}
    return {key: value for key, value in given.items() if key not in injected}, injected


def _fields(schema: Any) -> set[str]:
    if isinstance(schema, Mapping):
        return set(schema.get("properties", {}))
    if hasattr(schema, "model_fields"):
        return set(schema.model_fields)
    return set(getattr(schema, "__fields__", {}))


def _take(known: dict[str, Any], name: str, value: Any) -> None:
    if value is not None:
        known[name] = str(value)
