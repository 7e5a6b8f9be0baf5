"""Puts approval around one LangChain tool.

The wrapper is a tool with the same name, description and arguments, for an agent or a ``ToolNode``. All ways to run it
go through the session, which runs the inner tool by its ``run`` or ``arun``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Literal

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import PrivateAttr

from .._arguments import Config, one_config, one_controller
from .._controller import ApprovalController
from .._driving import refusal, run, run_sync, settle, settle_sync
from .._memory import ApprovalMemory
from .._session import Session
from ._middleware import finished, refusal_message
from ._tools import metadata_of, split_args, view_of


class ApprovalToolWrapper(BaseTool):
    """A tool whose calls go through askfirst.

    ``invoke`` and ``ainvoke`` take the arguments of the tool. Inside a running event loop, ``invoke`` with plain
    arguments returns an awaitable, because it must not block the loop. A refused call of an agent becomes a tool
    message. A refused call of code raises ``ApprovalDenied`` (a ``PermissionError``).
    """

    _tool: BaseTool = PrivateAttr()
    _controller: ApprovalController = PrivateAttr()
    _session: Session = PrivateAttr()

    def __init__(
        self,
        tool: BaseTool,
        controller: ApprovalController | None = None,
        *,
        approval_callback: Callable[..., Any] | None = None,
        prompt_fn: Callable[..., Any] | None = None,
        memory: ApprovalMemory | None = None,
        config: Config | None = None,
        tool_configs: Mapping[str, Mapping[str, Any]] | None = None,
        default_approval: str = "required",
        on_denial: Literal["return", "stop"] | None = None,
        ledger: Any = None,
    ) -> None:
        if not isinstance(tool, BaseTool):
            raise TypeError(f"`tool` must be a LangChain tool, not {type(tool).__name__}")
        super().__init__(
            name=tool.name,
            description=tool.description,
            args_schema=tool.args_schema if tool.args_schema is not None else tool.get_input_schema(),
            return_direct=tool.return_direct,
            response_format=tool.response_format,
            tags=tool.tags,
            metadata=tool.metadata,
        )
        self._tool = tool
        self._controller = one_controller(controller, approval_callback, prompt_fn, memory)
        given, _ = one_config(config, tool_configs, None, default_approval)
        self._session = Session(given, controller=self._controller, ledger=ledger, on_denial=on_denial)

    @property
    def tool(self) -> BaseTool:
        """The inner tool."""
        return self._tool

    @property
    def controller(self) -> ApprovalController:
        """The controller: mode, memory and approver."""
        return self._controller

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the tool if the call is permitted. Inside a running event loop, return an awaitable."""
        made_by_agent = isinstance(input, dict) and input.get("type") == "tool_call"
        if not made_by_agent and _in_a_loop():
            return self.ainvoke(input, config, **kwargs)
        return super().invoke(input, config, **kwargs)

    def run(self, tool_input: Any, *positional: Any, **kwargs: Any) -> Any:
        """Run the tool if the call is permitted. All blocking ways to run it end here."""
        args, injected = self._args(tool_input)
        with self._controller._blocking():
            ticket = self._start(args, kwargs)
        if settle_sync(ticket) != "run":
            return self._refused(ticket, kwargs.get("tool_call_id"))
        given = tool_input if not ticket.edited else {**ticket.args, **injected}
        return finished(ticket, run_sync(ticket, lambda: self._tool.run(given, *positional, **kwargs)))

    async def arun(self, tool_input: Any, *positional: Any, **kwargs: Any) -> Any:
        """Async version of `run`. All async ways to run the tool end here."""
        args, injected = self._args(tool_input)
        ticket = self._start(args, kwargs)
        if await settle(ticket) != "run":
            return self._refused(ticket, kwargs.get("tool_call_id"))
        given = tool_input if not ticket.edited else {**ticket.args, **injected}
        return finished(ticket, await run(ticket, self._tool.arun(given, *positional, **kwargs)))

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("run an ApprovalToolWrapper with `invoke`, `ainvoke`, `run` or `arun`")

    def _args(self, tool_input: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        if isinstance(tool_input, Mapping):
            return split_args(self._tool, tool_input)
        names = list(self._tool.args)
        return {names[0] if names else "input": tool_input}, {}

    def _start(self, args: dict[str, Any], kwargs: Mapping[str, Any]) -> Any:
        config = kwargs.get("config")
        view = view_of(self._tool, self.name, config, self._controller.memory)
        return self._session.start(self.name, args, metadata_of(config, kwargs.get("tool_call_id")), view)

    def _refused(self, ticket: Any, tool_call_id: str | None) -> ToolMessage:
        no = refusal(self._session, ticket)
        if tool_call_id is None:
            raise no.error()
        return refusal_message(no, self.name, tool_call_id)


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
