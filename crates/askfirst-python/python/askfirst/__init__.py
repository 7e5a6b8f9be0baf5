"""Approve an AI agent's tool calls before they run.

>>> import askfirst
>>> def rm(path: str) -> str:
...     return f"removed {path}"
>>> with askfirst.session({"tools": {"rm": {"approval": "none"}}}, ledger=False) as session:
...     askfirst.guard(rm)("a.txt")
'removed a.txt'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._askfirst import ConfigError, Ticket, __version__
from ._controller import ApprovalController
from ._decorator import requires_approval
from ._judge import Judge
from ._memory import ApprovalMemory
from ._outcome import ApprovalBlocked, ApprovalDenied, Denied, Outcome, ToolFailed
from ._session import (
    Session,
    current_session,
    execute_tool,
    request_approval,
    request_approval_sync,
    session,
)
from ._types import (
    ApprovalAware,
    ApprovalContext,
    ApprovalDecision,
    ApprovalPresentation,
    ApprovalRequest,
    ApprovalScope,
    simple_approval_request,
    truncate_for_display,
)

if TYPE_CHECKING:
    from ._guard import guard
    from .langchain import ApprovalMiddleware, ApprovalToolWrapper
    from .pydantic_ai import ApprovalCapability, ApprovalHandler, ApprovalToolset

__all__ = [
    "ApprovalAware",
    "ApprovalBlocked",
    "ApprovalContext",
    "ApprovalController",
    "ApprovalDecision",
    "ApprovalDenied",
    "ApprovalMemory",
    "ApprovalPresentation",
    "ApprovalRequest",
    "ApprovalScope",
    "ConfigError",
    "Denied",
    "Judge",
    "Outcome",
    "Session",
    "Ticket",
    "ToolFailed",
    "__version__",
    "current_session",
    "execute_tool",
    "guard",
    "request_approval",
    "request_approval_sync",
    "requires_approval",
    "session",
    "simple_approval_request",
    "truncate_for_display",
]

# These names need other packages or slow modules, so they are imported on first use.
_LAZY = {
    "guard": "_guard",
    "ApprovalCapability": "pydantic_ai",
    "ApprovalHandler": "pydantic_ai",
    "ApprovalMiddleware": "langchain",
    "ApprovalToolWrapper": "langchain",
    "ApprovalToolset": "pydantic_ai",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module `askfirst` has no attribute `{name}`")
    from importlib import import_module

    return getattr(import_module(f".{_LAZY[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_LAZY})
