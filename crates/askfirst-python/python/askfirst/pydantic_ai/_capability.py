"""The capability that puts approval around all tools of an agent."""

from __future__ import annotations

from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.tools import AgentDepsT
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

from .._controller import ApprovalController
from .._memory import ApprovalMemory
from ._toolset import ApprovalToolset


class ApprovalCapability(AbstractCapability[AgentDepsT]):
    """Asks before any tool of an agent runs: function tools, toolsets, MCP servers and tools of other capabilities.

    It takes the arguments of ``ApprovalToolset``. ``toolset_class`` is a subclass of it with an override of
    ``needs_approval``. Put the capability first: a capability before it could add tools that do not ask. Tools that the
    model's provider runs are not covered.

        >>> from pydantic_ai import Agent
        >>> from pydantic_ai.models.test import TestModel
        >>> from askfirst import ApprovalDecision
        >>> from askfirst.pydantic_ai import ApprovalCapability
        >>> no = ApprovalDecision(approved=False, note="not now")
        >>> gate = ApprovalCapability(approval_callback=lambda request: no)
        >>> agent = Agent(TestModel(), capabilities=[gate])
        >>> @agent.tool_plain
        ... def send(to: str) -> str:
        ...     return f"sent to {to}"
        >>> "not now" in agent.run_sync("write to ada").output
        True
    """

    def __init__(
        self,
        controller: ApprovalController | None = None,
        *,
        toolset_class: type[ApprovalToolset[AgentDepsT]] = ApprovalToolset,
        **options: Any,
    ) -> None:
        # All runs share the session of this toolset. Each run puts it around the tools of the agent.
        self._toolset = toolset_class(FunctionToolset(), controller, **options)

    @property
    def controller(self) -> ApprovalController:
        """The controller: mode, memory and approver."""
        return self._toolset.controller

    @property
    def memory(self) -> ApprovalMemory:
        """The decisions that are remembered."""
        return self._toolset.memory

    @classmethod
    def get_serialization_name(cls) -> str | None:
        return None

    def get_wrapper_toolset(self, toolset: AbstractToolset[AgentDepsT]) -> AbstractToolset[AgentDepsT]:
        """Return the agent's toolset with approval around it."""
        return self._toolset._around(toolset)
