"""askfirst for LangChain and LangGraph.

``ApprovalMiddleware`` goes into ``create_agent(middleware=[...])``, or its ``wrap_tool_call`` and ``awrap_tool_call``
into a ``ToolNode``; ``ApprovalToolWrapper`` gates one tool. Put the middleware last: what comes after it in the list
could change a call after it was shown.
"""

from __future__ import annotations

from ._middleware import ApprovalMiddleware
from ._wrapper import ApprovalToolWrapper

__all__ = ["ApprovalMiddleware", "ApprovalToolWrapper"]
