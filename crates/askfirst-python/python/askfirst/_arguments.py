"""Checks the arguments that all framework adapters share.

Arguments that contradict each other raise an exception.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Union

from ._askfirst import ConfigError
from ._controller import ApprovalController
from ._memory import ApprovalMemory

Config = Union[str, "os.PathLike[str]", Mapping[str, Any]]

_APPROVALS = ("none", "once_per_session", "required", "human", "deny")
_FULL_CONFIG_KEYS = frozenset({"version", "tools", "default_approval", "on_denial", "sandbox"})
_LEDGER_KEYS = frozenset({"sync", "rotate", "path"})


def one_controller(
    controller: ApprovalController | None,
    approval_callback: Callable[..., Any] | None,
    prompt_fn: Callable[..., Any] | None,
    memory: ApprovalMemory | None,
) -> ApprovalController:
    """Return the given controller, or create one from the callback and the memory."""
    if controller is not None:
        if not isinstance(controller, ApprovalController):
            raise TypeError(f"`controller` must be an ApprovalController, not {type(controller).__name__}")
        rest = {"approval_callback": approval_callback, "prompt_fn": prompt_fn, "memory": memory}
        for name, value in rest.items():
            if value is not None:
                raise ConfigError(f"`controller` and `{name}` cannot be combined; hint: pass it to the controller")
        return controller
    if approval_callback is not None and prompt_fn is not None and approval_callback is not prompt_fn:
        raise ConfigError("`approval_callback` and `prompt_fn` are the same argument; hint: pass one of them")
    callback = approval_callback if approval_callback is not None else prompt_fn
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, ApprovalController) and callback == owner.approval_callback:
        if memory is not None and memory is not owner.memory:
            raise ConfigError("the callback belongs to a controller with another memory; hint: omit `memory`")
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
    """Return the config for the session, and the tool entries as the caller wrote them."""
    if config is not None and tool_configs is not None:
        raise ConfigError("`config` and `tool_configs` cannot be combined; hint: pass one of them")
    if default_approval not in _APPROVALS:
        raise ConfigError(f"`default_approval` must be one of {', '.join(_APPROVALS)}, not `{default_approval}`")
    names = _names(pre_approved, stacklevel)
    if isinstance(config, (str, os.PathLike)):
        if names:
            raise ConfigError("`pre_approved` and a config file cannot be combined; hint: write it into the file")
        if default_approval != "required":
            raise ConfigError("`default_approval` and a config file cannot be combined; hint: write it into the file")
        return config, MappingProxyType({})
    given = config if config is not None else tool_configs
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"the config must be a path or a mapping, not {type(given).__name__}")
    is_full = config is not None and given is not None and _is_full_config(given)
    whole: dict[str, Any] | None = dict(given or {}) if is_full else None
    tools = _entries(whole.get("tools") if whole is not None else given)
    for name in names:
        entry = tools.setdefault(name, {})
        if not _has_approval(entry):
            entry["approval"] = "none"
    if whole is None:
        whole = {"default_approval": default_approval}
    elif default_approval != "required":
        if whole.setdefault("default_approval", default_approval) != default_approval:
            raise ConfigError("`default_approval` has two different values: in the config and as an argument")
    whole["tools"] = tools
    frozen = {name: MappingProxyType(entry) if isinstance(entry, dict) else entry for name, entry in tools.items()}
    return whole, MappingProxyType(frozen)


def warn_of_unknown_tools(names: Iterable[str], offered: Collection[str], *, only_close: bool = False) -> None:
    """Warn about names of tools that are not offered. ``only_close`` skips names that are like no offered one."""
    for name in names:
        if name not in offered:
            from difflib import get_close_matches

            close = get_close_matches(name, offered, 1)
            hint = f"; hint: did you mean `{close[0]}`?" if close else ""
            if close or not only_close:
                warnings.warn(f"the config names the tool `{name}`, but no toolset offers it{hint}", stacklevel=4)


def _names(pre_approved: Sequence[str] | None, stacklevel: int) -> list[str]:
    if pre_approved is None:
        return []
    warnings.warn(
        "`pre_approved` is deprecated; hint: use `tool_configs={name: {'approval': 'none'}}`",
        DeprecationWarning,
        stacklevel=stacklevel + 1,
    )
    if isinstance(pre_approved, str) or not all(isinstance(name, str) for name in pre_approved):
        raise TypeError("`pre_approved` must be a list of tool names")
    return list(pre_approved)


def _is_full_config(config: Mapping[str, Any]) -> bool:
    if not _FULL_CONFIG_KEYS.isdisjoint(config):
        return True
    ledger = config.get("ledger")
    if isinstance(ledger, Mapping) and _LEDGER_KEYS.issuperset(ledger):
        return True  # The section of that name, and not an entry for a tool.
    return any(value is not None and not isinstance(value, (Mapping, list)) for value in config.values())


def _entries(tools: Any) -> dict[str, Any]:
    if tools is None:
        return {}
    if not isinstance(tools, Mapping):
        raise TypeError(f"`tools` must be a mapping from names to entries, not {type(tools).__name__}")
    entries: dict[str, Any] = {}
    for name, entry in tools.items():
        if not isinstance(name, str):
            raise TypeError(f"a tool name must be a str, not {type(name).__name__}")
        if entry is None:
            entries[name] = {}
        elif isinstance(entry, Mapping):
            entries[name] = dict(entry)
        elif isinstance(entry, list):
            entries[name] = [dict(each) if isinstance(each, Mapping) else each for each in entry]
        else:
            raise TypeError(f"the entry of `{name}` must be a mapping, not {type(entry).__name__}")
    return entries


def _has_approval(entry: Any) -> bool:
    if isinstance(entry, list):
        return bool(entry)
    return entry.get("approval") is not None or "pre_approved" in entry or "allowed" in entry
