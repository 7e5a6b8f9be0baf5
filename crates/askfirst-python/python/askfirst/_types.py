"""The values of an approval: requests, decisions and presentations.

They are immutable; ``replace`` returns a changed copy.

>>> request = ApprovalRequest(tool_name="send", description="Send to ada", payload={"to": "ada"})
>>> request.replace(risk="high").risk
'high'
>>> request == ApprovalRequest("send", "Send to ada", {"to": "ada"})
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from . import _json

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal, TypeAlias

    from typing_extensions import Self

    Remember: TypeAlias = Literal["none", "session", "pattern"]
    Mode: TypeAlias = Literal["interactive", "approve_all", "strict"]
    Risk: TypeAlias = Literal["low", "high", "irreversible"]
    Approval: TypeAlias = Literal["once_per_session", "required", "human"]
    PresentationType: TypeAlias = Literal["text", "diff", "file_content", "command", "structured"]
else:
    Remember = Mode = Risk = Approval = PresentationType = str

_T = TypeVar("_T", bound="Value")

_REMEMBER = ("none", "session", "pattern")
_RISK = ("low", "high", "irreversible")
_APPROVAL = ("once_per_session", "required", "human")
_PRESENTATION = ("text", "diff", "file_content", "command", "structured")


def _make(cls: type[_T], fields: dict[str, Any]) -> _T:
    return cls(**fields)


def _word(name: str, value: object, known: Sequence[str]) -> None:
    if value not in known:
        raise ValueError(f"`{name}` must be one of {', '.join(known)}, not {value!r}")


def _text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"`{name}` must be a str, not {type(value).__name__}")


class Value:
    """Base of the values: equality, repr, pickling and copies by the fields in ``__slots__``."""

    __slots__: tuple[str, ...] = ()

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"`{type(self).__name__}` is immutable; hint: use .replace({name}=…)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"`{type(self).__name__}` is immutable")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict."""
        return {name: getattr(self, name) for name in self.__slots__}

    def replace(self, **changes: Any) -> Self:
        """Return a copy with changed fields."""
        return type(self)(**{**self.to_dict(), **changes})

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]  # the fields can contain mutable values

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, (type(self), self.to_dict())


class ApprovalScope(str, Enum):
    """How long a decision is remembered.

    >>> ApprovalDecision(approved=True, scope=ApprovalScope.SESSION).remember
    'session'
    """

    ONCE = "once"
    SESSION = "session"
    PATTERN = "pattern"


class ApprovalPresentation(Value):
    """The content that a tool shows about its call. It is data; askfirst escapes it before it shows it.

    >>> ApprovalPresentation(type="diff", content="-a\\n+b").type
    'diff'
    """

    __slots__ = ("type", "content", "language", "metadata")
    type: PresentationType
    content: str
    language: str | None
    metadata: dict[str, Any]

    def __init__(
        self,
        type: PresentationType,  # noqa: A002
        content: str,
        language: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        _word("type", type, _PRESENTATION)
        _text("content", content)
        self._set(type=type, content=content, language=language, metadata=_json.fields(metadata))


class ApprovalContext(Value):
    """One call of a tool, as ``check_approval(ctx)`` gets it.

    >>> ApprovalContext("write_file", {"path": "a.txt"}).args["path"]
    'a.txt'
    """

    __slots__ = ("tool_name", "args", "metadata")
    tool_name: str
    args: dict[str, Any]
    metadata: dict[str, Any]

    def __init__(self, tool_name: str, args: Any = None, metadata: Any = None) -> None:
        _text("tool_name", tool_name)
        self._set(tool_name=tool_name, args=_json.fields(args), metadata=_json.fields(metadata))


class ApprovalRequest(Value):
    """The data with which askfirst asks a person about one call.

    ``action`` becomes the headline of the prompt: a list of ``{"words": …}`` and ``{"value": …}``.
    Calls of a tool with an equal ``payload`` count as the same call for ``remember``. It may be a dict, a pydantic
    model or a dataclass.

    >>> ApprovalRequest(tool_name="rm", description="Remove a", payload={"path": "a"}).payload
    {'path': 'a'}
    """

    __slots__ = (
        "tool_name",
        "description",
        "payload",
        "presentation",
        "group_id",
        "args",
        "call_id",
        "facts",
        "caller",
        "risk",
        "definition",
        "patterns",
        "deadline",
        "exclude_keys",
        "approval",
        "same",
        "action",
    )
    tool_name: str
    description: str
    payload: Any
    presentation: ApprovalPresentation | None
    group_id: str | None
    args: dict[str, Any]
    call_id: str
    facts: list[dict[str, str]]
    caller: str | None
    risk: Risk
    definition: str | None
    patterns: list[dict[str, Any]]
    deadline: int | None
    exclude_keys: list[str]
    approval: Approval
    same: str | None
    action: list[dict[str, str]] | None

    def __init__(
        self,
        tool_name: str,
        description: str,
        payload: Any,
        presentation: ApprovalPresentation | Mapping[str, Any] | None = None,
        group_id: str | None = None,
        *,
        args: Any = None,
        call_id: str = "",
        facts: Iterable[Mapping[str, str]] = (),
        caller: str | None = None,
        risk: Risk = "low",
        definition: str | None = None,
        patterns: Iterable[Mapping[str, Any]] = (),
        deadline: int | None = None,
        exclude_keys: Iterable[str] = (),
        approval: Approval = "required",
        same: str | None = None,
        action: Iterable[Mapping[str, str]] | None = None,
    ) -> None:
        _text("tool_name", tool_name)
        _text("description", description)
        _word("risk", risk, _RISK)
        _word("approval", approval, _APPROVAL)
        if presentation is not None and not isinstance(presentation, ApprovalPresentation):
            presentation = ApprovalPresentation(**_json.fields(presentation))
        if isinstance(exclude_keys, str):
            raise TypeError("`exclude_keys` must be a set or list of names, not a str")
        self._set(
            tool_name=tool_name,
            description=description,
            payload=_json.fields(payload),
            presentation=presentation,
            group_id=group_id,
            args=_json.fields(args),
            call_id=call_id,
            facts=[dict(fact) for fact in facts],
            caller=caller,
            risk=risk,
            definition=definition,
            patterns=[dict(pattern) for pattern in patterns],
            deadline=deadline,
            exclude_keys=sorted(exclude_keys),
            approval=approval,
            same=same,
            action=None if action is None else [dict(part) for part in action],
        )


class ApprovalDecision(Value):
    """The decision about a request.

    ``remember`` (or ``scope``) says how long it is remembered: ``none``, ``session``, or ``pattern`` with the number
    of a pattern that the request offers.

    >>> ApprovalDecision(approved=True, remember="session").scope
    <ApprovalScope.SESSION: 'session'>
    >>> ApprovalDecision(approved=False, note="not today").note
    'not today'
    """

    __slots__ = ("approved", "remember", "note", "edited_args", "pattern", "cause", "rest_unseen", "stop")
    approved: bool
    remember: Remember
    note: str | None
    edited_args: dict[str, Any] | None
    pattern: int | None
    cause: str
    rest_unseen: bool
    stop: bool

    def __init__(
        self,
        approved: bool,
        *,
        remember: Remember | None = None,
        scope: ApprovalScope | str | None = None,
        note: str | None = None,
        edited_args: Any = None,
        pattern: int | None = None,
        cause: str = "person",
        rest_unseen: bool = False,
        stop: bool = False,
    ) -> None:
        if type(approved) is not bool:
            raise TypeError(f"`approved` must be True or False, not {type(approved).__name__}")
        if type(rest_unseen) is not bool:
            raise TypeError(f"`rest_unseen` must be True or False, not {type(rest_unseen).__name__}")
        if type(stop) is not bool:
            raise TypeError(f"`stop` must be True or False, not {type(stop).__name__}")
        reach = _reach(remember, scope)
        if note is not None:
            _text("note", note)
        if pattern is not None and type(pattern) is not int:
            raise TypeError(f"`pattern` must be an int, not {type(pattern).__name__}")
        self._set(
            approved=approved,
            remember=reach,
            note=note,
            edited_args=None if edited_args is None else _json.fields(edited_args),
            pattern=pattern,
            cause=cause,
            rest_unseen=rest_unseen,
            stop=stop,
        )

    @property
    def scope(self) -> ApprovalScope:
        """The value of ``remember`` as an ``ApprovalScope``."""
        return ApprovalScope("once" if self.remember == "none" else self.remember)


def _reach(remember: str | None, scope: ApprovalScope | str | None) -> str:
    given = scope.value if isinstance(scope, ApprovalScope) else scope
    given = "none" if given == "once" else given
    remember = "none" if remember == "once" else remember
    if remember is not None and given is not None and remember != given:
        raise ValueError(f"`remember` says {remember!r} and `scope` says {given!r}")
    reach = given if remember is None else remember
    reach = "none" if reach is None else reach
    _word("remember", reach, _REMEMBER)
    return reach


@runtime_checkable
class ApprovalAware(Protocol):
    """A tool that assesses its own calls."""

    def check_approval(self, ctx: ApprovalContext, /) -> ApprovalRequest | None:
        """Return ``None`` for a harmless call, or a request to ask. Raise ``PermissionError`` to block the call."""
        ...


def request_to_native(request: Any, tool_name: str | None = None) -> dict[str, Any]:
    """Convert a request, or a dict of its fields, for the native half."""
    if not isinstance(request, ApprovalRequest):
        fields = _json.fields(request)
        if tool_name is not None:
            fields.setdefault("tool_name", tool_name)
        request = ApprovalRequest(**fields)
    made: dict[str, Any] = {}
    for name in request.__slots__:
        value = getattr(request, name)
        if value is not None:
            made[name] = value.to_dict() if isinstance(value, Value) else value
    return made


def request_from_native(fields: dict[str, Any]) -> ApprovalRequest:
    """Convert a request from the native half."""
    return ApprovalRequest(**_json.received(fields))


def decision_to_native(decision: Any) -> dict[str, Any]:
    """Convert a decision, or a mapping of its fields, for the native half. Any other value is an error."""
    if not isinstance(decision, ApprovalDecision):
        try:
            fields = _json.fields(decision)
        except TypeError:
            kind = type(decision).__name__
            raise TypeError(f"an approval callback must return an ApprovalDecision, not {kind}") from None
        if not fields:
            raise TypeError("an approval callback must return an ApprovalDecision")
        decision = ApprovalDecision(**fields)
    made = {name: value for name, value in decision.to_dict().items() if value is not None}
    if decision.approved:
        # The callback answers for a person.
        made["cause"] = "person"
    return made


def decision_from_native(fields: dict[str, Any]) -> ApprovalDecision:
    """Convert a decision from the native half."""
    return ApprovalDecision(**fields)


def simple_approval_request(
    tool_name: str,
    args: Any,
    *,
    description: str | None = None,
    exclude_keys: Iterable[str] | None = None,
) -> ApprovalRequest:
    """Return a request for a call, made from its arguments.

    The person sees the arguments in ``exclude_keys``, but they go into neither the memory nor the audit log.

    >>> simple_approval_request("send", {"to": "ada", "body": "…"}, exclude_keys={"body"}).payload
    {'to': 'ada'}
    >>> simple_approval_request("send", {"to": "ada"}).description
    "send(to='ada')"
    """
    if isinstance(exclude_keys, str):
        raise TypeError("`exclude_keys` must be a set or list of names, not a str")
    left_out = frozenset(exclude_keys or ())
    given = _json.fields(args)
    payload = {key: value for key, value in given.items() if key not in left_out}
    if description is None:
        description = f"{tool_name}({', '.join(f'{key}={value!r}' for key, value in payload.items())})"
    return ApprovalRequest(tool_name, description, payload, args=given, exclude_keys=left_out)


def truncate_for_display(content: str, max_lines: int = 50) -> str:
    """Return the first lines of a text, and the number of lines that are missing.

    >>> print(truncate_for_display("a\\nb\\nc", max_lines=2))
    a
    b
    <BLANKLINE>
    ... [1 more lines]
    """
    lines = content.split("\n")
    if len(lines) <= max_lines:
        return content
    return "\n".join(lines[:max_lines]) + f"\n\n... [{len(lines) - max_lines} more lines]"
