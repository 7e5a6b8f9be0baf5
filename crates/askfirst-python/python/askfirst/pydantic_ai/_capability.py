"""The capability that puts approval around all tools of an agent."""

from __future__ import annotations

from abc import ABC
from typing import Any

from pydantic_ai import capabilities
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.tools import AgentDepsT
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

from .._controller import ApprovalController
from .._memory import ApprovalMemory
from ._toolset import ApprovalToolset


class _OtherCapability(ABC):
    """Every capability except gates and PydanticAI's own, whose tools only search and load other tools."""

    @classmethod
    def __subclasshook__(cls, kind: type, /) -> bool:
        return not issubclass(kind, ApprovalCapability) and not kind.__module__.startswith("pydantic_ai.")


class ApprovalCapability(AbstractCapability[AgentDepsT]):
    """Asks before any tool of an agent runs: function tools, toolsets, MCP servers and tools of other capabilities.

    It takes the arguments of ``ApprovalToolset``. ``toolset_class`` is a subclass of it with an override of
    ``needs_approval``. Its position among the capabilities does not matter; versions of PydanticAI without
    ``CapabilityOrdering`` need it in front. Tools that the model's provider runs are not covered.

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

    def get_ordering(self) -> Any:
        """Return the place of this capability: around all others that could add a tool."""
        ordering = getattr(capabilities, "CapabilityOrdering", None)  # Older versions of PydanticAI have none.
        return None if ordering is None else ordering(position="outermost", wraps=[_OtherCapability])

    def get_wrapper_toolset(self, toolset: AbstractToolset[AgentDepsT]) -> AbstractToolset[AgentDepsT]:
        """Return the agent's toolset with approval around it."""
        return self._toolset._around(toolset)
