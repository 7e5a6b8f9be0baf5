"""askfirst for PydanticAI.

- ``ApprovalCapability`` asks before any tool of an agent runs.
- ``ApprovalToolset`` wraps any toolset and asks before its tools run.
- ``ApprovalHandler`` answers the calls that PydanticAI defers (``requires_approval=True``).
- ``FileToolset``, ``ShellToolset`` and ``ConfigToolset`` offer the tools of a config.

A refusal is a message to the model. With ``on_denial="stop"`` it ends the run.

    >>> from pydantic_ai import Agent
    >>> from pydantic_ai.models.test import TestModel
    >>> from pydantic_ai.toolsets import FunctionToolset
    >>> from askfirst import ApprovalDecision
    >>> from askfirst.pydantic_ai import ApprovalToolset
    >>> def delete_file(path: str) -> str:
    ...     return f"deleted {path}"
    >>> asked = []
    >>> def answer(request):
    ...     asked.append(request.tool_name)
    ...     return ApprovalDecision(approved=False, note="keep it")
    >>> toolset = ApprovalToolset(FunctionToolset([delete_file]), approval_callback=answer)
    >>> result = Agent(TestModel(), toolsets=[toolset]).run_sync("tidy up")
    >>> asked
    ['delete_file']
    >>> "keep it" in result.output
    True
"""

from __future__ import annotations

from ._builtin import ConfigToolset, FileToolset, ShellToolset
from ._capability import ApprovalCapability
from ._handler import ApprovalHandler
from ._toolset import ApprovalToolset

__all__ = ["ApprovalCapability", "ApprovalHandler", "ApprovalToolset", "ConfigToolset", "FileToolset", "ShellToolset"]
