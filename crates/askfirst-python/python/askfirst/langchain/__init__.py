"""askfirst for LangChain and LangGraph.

- ``ApprovalMiddleware`` is for ``create_agent(middleware=[...])``. Its ``wrap_tool_call`` and ``awrap_tool_call`` are
  for a ``ToolNode``. Put it last: middleware after it could change a call after a person has seen it.
- ``ApprovalToolWrapper`` guards one tool.
"""

from __future__ import annotations

from ._middleware import ApprovalMiddleware
from ._wrapper import ApprovalToolWrapper

__all__ = ["ApprovalMiddleware", "ApprovalToolWrapper"]
