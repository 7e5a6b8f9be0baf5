"""Converts Python values that are not plain to JSON with tags, and back.

Values that a tool can tell apart stay different. A value that JSON cannot hold is an error. The native half reads plain
values itself, and calls this module for all others:

>>> import pathlib
>>> encode(pathlib.PurePosixPath("x"))
{'$path': 'x'}
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import Enum
from typing import Any


class Tagged(dict[str, Any]):
    """The tagged form of a value that is not plain, as a person sees it. It converts back to the same tag."""

    __slots__ = ()


def received(value: Any) -> Any:
    """Convert a value from the native half. Its tags become `Tagged`, so that they differ from dicts of the agent."""
    if isinstance(value, list):
        return [received(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"$dict"}:
        return {key: received(item) for key, item in value["$dict"].items()}
    made = {key: received(item) for key, item in value.items()}
    return Tagged(made) if any(key.startswith("$") for key in made) else made


def fields(value: Any) -> dict[str, Any]:
    """Return the fields of a dict, a pydantic model or a dataclass as a new dict. ``None`` has no fields.

    >>> fields({"a": 1})
    {'a': 1}
    """
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return dict(value)
    found = _named(value)
    if found is None:
        kind = type(value).__name__
        raise TypeError(f"expected a dict, a pydantic model or a dataclass, not {kind}")
    return found


def _named(value: Any) -> dict[str, Any] | None:
    """Return the fields of a pydantic model, a dataclass or a named tuple."""
    kind = type(value)
    if isinstance(value, type):
        return None
    model = getattr(kind, "__pydantic_fields__", None)
    if isinstance(model, Mapping) and hasattr(kind, "model_validate"):
        extra = getattr(value, "model_extra", None) or {}
        return {**{name: getattr(value, name) for name in model}, **extra}
    if hasattr(kind, "__dataclass_fields__"):
        names = [name for name, field in kind.__dataclass_fields__.items() if field._field_type.name == "_FIELD"]
        return {name: getattr(value, name) for name in names}
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return dict(zip(kind._fields, value))
    return None


def encode(value: Any) -> Any:
    """Convert a value that is not plain to a dict with a tag."""
    if type(value) is Tagged:
        return dict(value)
    if isinstance(value, Enum):
        return {"$enum": f"{type(value).__qualname__}.{value.name}"}
    named = _named(value)
    if named is not None:
        if any(not isinstance(key, str) or key.startswith("$") for key in named):
            raise TypeError(f"a field of `{type(value).__qualname__}` starts with `$`")
        return {"$type": type(value).__qualname__, **named}
    if isinstance(value, Mapping):
        made = dict(value)
        return {"$dict": made} if any(isinstance(key, str) and key.startswith("$") for key in made) else made
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, (set, frozenset)):
        from . import _askfirst

        return {"$set": sorted(value, key=_askfirst.to_json)}
    if isinstance(value, str):
        return {"$type": type(value).__qualname__, "value": str.__str__(value)}
    if isinstance(value, int):
        return {"$type": type(value).__qualname__, "value": int(value)}
    if isinstance(value, float):
        return {"$type": type(value).__qualname__, "value": float(value)}
    if isinstance(value, (bytes, bytearray, memoryview)):
        from base64 import b64encode

        return {"$bytes": b64encode(value).decode("ascii")}
    known = _of_a_module(value)
    if known is not None:
        return known
    raise TypeError(f"JSON cannot hold a value of type `{type(value).__qualname__}`")


def _of_a_module(value: Any) -> dict[str, Any] | None:
    """Convert values of types whose modules may not be imported."""
    pathlib, datetime = sys.modules.get("pathlib"), sys.modules.get("datetime")
    if pathlib is not None and isinstance(value, pathlib.PurePath):
        return {"$path": str(value)}
    if datetime is not None:
        # A datetime is also a date, so it comes first.
        for name in ("datetime", "date", "time"):
            if isinstance(value, getattr(datetime, name)):
                return {f"${name}": value.isoformat()}
        if isinstance(value, datetime.timedelta):
            return {"$timedelta": [value.days, value.seconds, value.microseconds]}
    for module, name in (("decimal", "Decimal"), ("uuid", "UUID")):
        if module in sys.modules and isinstance(value, getattr(sys.modules[module], name)):
            return {f"${name.lower()}": str(value)}
    if hasattr(value, "unicode_string") and type(value).__module__.startswith("pydantic"):
        return {"$url": str(value)}
    if type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return {"$type": type(value).__qualname__, "value": value.item()}
    return None


def decode(value: Any, before: Any = None) -> Any:
    """Convert a tagged value back. ``before`` is the value before a person edited it.

    >>> decode({"$path": "x"}).name
    'x'
    """
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    tag = next((key for key in value if key.startswith("$")), None)
    if tag is None:
        known = before if isinstance(before, dict) else {}
        return {key: decode(item, known.get(key)) for key, item in value.items()}
    if tag == "$dict":
        return {key: decode(item) for key, item in value[tag].items()}
    if tag == "$set":
        return set(decode(value[tag]))
    if tag in ("$type", "$enum"):
        return _like(tag, value, before)
    maker = _MAKERS.get(tag)
    if maker is None:
        raise ValueError(f"unknown tag `{tag}`")
    return maker(value[tag], before)


def _like(tag: str, value: dict[str, Any], before: Any) -> Any:
    """Build a value of a type that only the previous value names."""
    kind = type(before)
    if tag == "$enum" and isinstance(before, Enum):
        name, _, member = value[tag].rpartition(".")
        if name == kind.__qualname__:
            return type(before)[member]
    if tag == "$type" and value[tag] == kind.__qualname__:
        rest = {key: decode(item, getattr(before, key, None)) for key, item in value.items() if key != tag}
        if hasattr(kind, "model_validate"):
            return kind.model_validate(rest)
        if hasattr(kind, "__dataclass_fields__") or hasattr(kind, "_fields"):
            return kind(**rest)
        if set(rest) == {"value"}:
            return kind(rest["value"])
    raise ValueError(f"cannot build a `{value[tag]}` from the edited value")


def _path(text: str, before: Any) -> Any:
    import pathlib

    return type(before)(text) if isinstance(before, pathlib.PurePath) else pathlib.Path(text)


def _bytes(text: str, before: Any) -> Any:
    from base64 import b64decode

    made = b64decode(text, validate=True)
    return bytearray(made) if isinstance(before, bytearray) else made


def _time(name: str) -> Any:
    def make(text: Any, before: Any) -> Any:
        import datetime

        kind = getattr(datetime, name)
        return kind(*text) if name == "timedelta" else kind.fromisoformat(text)

    return make


def _number(module: str, name: str) -> Any:
    def make(text: str, before: Any) -> Any:
        import importlib

        return getattr(importlib.import_module(module), name)(text)

    return make


_MAKERS: dict[str, Any] = {
    "$path": _path,
    "$bytes": _bytes,
    "$datetime": _time("datetime"),
    "$date": _time("date"),
    "$time": _time("time"),
    "$timedelta": _time("timedelta"),
    "$decimal": _number("decimal", "Decimal"),
    "$uuid": _number("uuid", "UUID"),
    "$url": lambda text, before: text if before is None else type(before)(text),
}


def config_text(config: Any) -> str:
    """Convert a config that was passed as a dict to JSON text. Paths become texts."""
    import json
    import os

    def other(value: Any) -> Any:
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if isinstance(value, Mapping):
            return dict(value)
        if isinstance(value, (set, frozenset)):
            return sorted(value)
        raise TypeError(f"a config cannot contain a value of type `{type(value).__name__}`")

    return json.dumps(config if isinstance(config, dict) else fields(config), allow_nan=False, default=other)
