"""The arguments that every framework's wrapper takes, checked once.

Arguments that contradict each other raise; none of them quietly wins.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Union

from ._askfirst import ConfigError
from ._controller import ApprovalController
from ._memory import ApprovalMemory

Config = Union[str, "os.PathLike[str]", Mapping[str, Any]]

_STRICTNESS = ("none", "once_per_session", "required", "human", "deny")
_WHOLE = frozenset({"version", "tools", "default_approval", "on_denial", "sandbox"})


def one_controller(
    controller: ApprovalController | None,
    approval_callback: Callable[..., Any] | None,
    prompt_fn: Callable[..., Any] | None,
    memory: ApprovalMemory | None,
) -> ApprovalController:
    """The controller that was given, or one made of the callback and the memory."""
    if controller is not None:
        if not isinstance(controller, ApprovalController):
            raise TypeError(f"`controller` is {type(controller).__name__}, not an ApprovalController")
        rest = {"approval_callback": approval_callback, "prompt_fn": prompt_fn, "memory": memory}
        for name, value in rest.items():
            if value is not None:
                raise ConfigError(f"`controller` and `{name}` contradict each other: the controller has its own")
        return controller
    if approval_callback is not None and prompt_fn is not None and approval_callback is not prompt_fn:
        raise ConfigError("`approval_callback` and `prompt_fn` are two names for one thing: give one")
    callback = approval_callback if approval_callback is not None else prompt_fn
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, ApprovalController) and callback == owner.approval_callback:
        if memory is not None and memory is not owner.memory:
            raise ConfigError("the callback is a controller's, and `memory` is not that controller's")
        return owner
    return ApprovalController(approval_callback=callback, memory=memory)


def one_config(
    config: Config | None,
    tool_configs: Mapping[str, Any] | None,
    pre_approved: Sequence[str] | None,
    default_approval: str,
    *,
    stacklevel: int = 3,
) -> tuple[Any, Mapping[str, Mapping[str, Any]]]:
    """What the session reads, and the entries of the tools as they were given."""
    if config is not None and tool_configs is not None:
        raise ConfigError("`config` and `tool_configs` both say what tools need: give one")
    if default_approval not in _STRICTNESS:
        raise ConfigError(f"`default_approval` is `{default_approval}`, not one of {', '.join(_STRICTNESS)}")
    names = _names(pre_approved, stacklevel)
    if isinstance(config, (str, os.PathLike)):
        if names:
            raise ConfigError("`pre_approved` and a config file contradict each other: write it into the file")
        if default_approval != "required":
            raise ConfigError("`default_approval` and a config file contradict each other: write it into the file")
        return config, MappingProxyType({})
    given = config if config is not None else tool_configs
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"the config is {type(given).__name__}, not a path or a mapping")
    is_whole = config is not None and given is not None and _is_whole(given)
    whole: dict[str, Any] | None = dict(given or {}) if is_whole else None
    tools = _entries(whole.get("tools") if whole is not None else given)
    for name in names:
        entry = tools.setdefault(name, {})
        if not _says_something(entry):
            entry["approval"] = "none"
    if whole is None:
        whole = {"default_approval": default_approval}
    elif default_approval != "required":
        if whole.setdefault("default_approval", default_approval) != default_approval:
            raise ConfigError("`default_approval` is given twice, and differently")
    whole["tools"] = tools
    frozen = {name: MappingProxyType(entry) if isinstance(entry, dict) else entry for name, entry in tools.items()}
    return whole, MappingProxyType(frozen)


def _names(pre_approved: Sequence[str] | None, stacklevel: int) -> list[str]:
    if pre_approved is None:
        return []
    warnings.warn(
        "`pre_approved` is deprecated: use `tool_configs={name: {'approval': 'none'}}`",
        DeprecationWarning,
        stacklevel=stacklevel + 1,
    )
    if isinstance(pre_approved, str) or not all(isinstance(name, str) for name in pre_approved):
        raise TypeError("`pre_approved` is a list of tool names")
    return list(pre_approved)


def _is_whole(config: Mapping[str, Any]) -> bool:
    return not _WHOLE.isdisjoint(config) or any(
        value is not None and not isinstance(value, (Mapping, list)) for value in config.values()
    )


def _entries(tools: Any) -> dict[str, Any]:
    if tools is None:
        return {}
    if not isinstance(tools, Mapping):
        raise TypeError(f"the tools are {type(tools).__name__}, not a mapping from names to entries")
    entries: dict[str, Any] = {}
    for name, entry in tools.items():
        if not isinstance(name, str):
            raise TypeError(f"a tool's name is {type(name).__name__}, not text")
        if entry is None:
            entries[name] = {}
        elif isinstance(entry, Mapping):
            entries[name] = dict(entry)
        elif isinstance(entry, list):
            entries[name] = [dict(each) if isinstance(each, Mapping) else each for each in entry]
        else:
            raise TypeError(f"the entry of `{name}` is {type(entry).__name__}, not a mapping")
    return entries


def _says_something(entry: Any) -> bool:
    if isinstance(entry, list):
        return bool(entry)
    return entry.get("approval") is not None or "pre_approved" in entry or "allowed" in entry
