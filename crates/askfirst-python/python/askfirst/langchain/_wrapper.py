"""Puts approval around one LangChain tool.

The wrapper is a tool with the same name, description and arguments, for an agent or a ``ToolNode``. All ways to run it
go through the session, which runs the inner tool by its ``run`` or ``arun``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.errors import GraphInterrupt
from pydantic import PrivateAttr

from .._arguments import Config, one_config, one_controller, warn_of_unknown_tools
from .._controller import ApprovalController
from .._driving import approval_around, executing, refusal, settle, settle_sync
from .._memory import ApprovalMemory
from .._session import Session
from ._gather import Gathering, Siblings, gathering_of
from ._middleware import finished, refusal_message
from ._reruns import ApprovedCall, Reruns
from ._tools import invalid_args, metadata_of, split_args, step_of, view_of


class _Call(NamedTuple):
    """One call of the tool, ready to be submitted."""

    tool_input: Any
    injected: dict[str, Any]
    submission: tuple[Any, ...]
    config: Any
    id: str | None
    rerun: ApprovedCall | None
    siblings: Siblings | None


class ApprovalToolWrapper(BaseTool):
    """A tool whose calls go through askfirst.

    ``invoke`` and ``ainvoke`` take the arguments of the tool. Inside a running event loop, ``invoke`` with plain
    arguments returns an awaitable, because it must not block the loop. A refused call of an agent becomes a tool
    message. A refused call of code raises ``ApprovalDenied`` (a ``PermissionError``).
    """

    _tool: BaseTool = PrivateAttr()
    _controller: ApprovalController = PrivateAttr()
    _session: Session = PrivateAttr()
    _gathering: Gathering = PrivateAttr()
    _reruns: Reruns = PrivateAttr()

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
        if tool.name not in self._session._unchecked:
            # Wrappers of other tools may share the config, so only a misspelling of this tool is worth a warning.
            warn_of_unknown_tools(sorted(self._session._unchecked), {tool.name}, only_close=True)
        self._gathering = gathering_of(self._controller)
        self._reruns = Reruns()

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
        call = self._call(tool_input, kwargs)
        if call.siblings is not None:
            ticket = self._gathering.submit(self._session, call.siblings, call.submission)
        else:
            with self._controller._blocking():
                ticket = self._start(call)
        if settle_sync(ticket) != "run":
            return self._refused(ticket, call.id)
        with self._running(call, ticket) as (given, notice):
            result = self._tool.run(given, *positional, **kwargs)
        return finished(ticket, result, notice)

    async def arun(self, tool_input: Any, *positional: Any, **kwargs: Any) -> Any:
        """Async version of `run`. All async ways to run the tool end here."""
        call = self._call(tool_input, kwargs)
        if call.siblings is not None:
            ticket = await self._gathering.submit_async(self._session, call.siblings, call.submission)
        else:
            ticket = self._start(call)
        if await settle(ticket) != "run":
            return self._refused(ticket, call.id)
        with self._running(call, ticket) as (given, notice):
            result = await self._tool.arun(given, *positional, **kwargs)
        return finished(ticket, result, notice)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("run an ApprovalToolWrapper with `invoke`, `ainvoke`, `run` or `arun`")

    def _args(self, tool_input: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        if isinstance(tool_input, Mapping):
            return split_args(self._tool, tool_input)
        names = list(self._tool.args)
        return {names[0] if names else "input": tool_input}, {}

    def _call(self, tool_input: Any, kwargs: Mapping[str, Any]) -> _Call:
        """Return the call. Raise if the tool cannot take its arguments, before a person is asked."""
        args, injected = self._args(tool_input)
        config, call_id = kwargs.get("config"), kwargs.get("tool_call_id")
        rerun = self._reruns.take(config, call_id, self.name, args)
        if rerun is None and (error := invalid_args(self._tool, args)) is not None:
            raise error
        view = view_of(self._tool, self.name, config, self._controller.memory)
        submission = (self.name, args, metadata_of(config, call_id), view)
        call = _Call(tool_input, injected, submission, config, call_id, rerun, None)
        if rerun is not None or call_id is None or approval_around(call_id) is not None:
            return call
        return call._replace(siblings=self._siblings(submission, config))

    def _siblings(self, submission: tuple[Any, ...], config: Any) -> Siblings | None:
        """Return the key for the calls of the same message, if a person is asked about this one."""
        step = step_of(config)
        if step is None or self._controller.mode != "interactive":
            return None
        if self._session.decide(*submission)["verdict"] != "ask":
            return None
        submission[2]["batch_id"] = "/".join(step)
        return Siblings(step, None)

    def _start(self, call: _Call) -> Any:
        name, args, metadata, view = call.submission
        if call.rerun is not None:
            return self._session.start(name, call.rerun.args, metadata, view, call.rerun.approval)
        return self._session.start(name, args, metadata, view, approval_around(call.id))

    @contextmanager
    def _running(self, call: _Call, ticket: Any) -> Iterator[tuple[Any, str | None]]:
        """Run a permitted call in this block, which gets the tool's input and the text for the model."""
        rerun, given = call.rerun, call.tool_input
        notice = ticket.notice if rerun is None else rerun.notice or ticket.notice
        if ticket.edited or (rerun is not None and rerun.edited):
            given = {**ticket.args, **call.injected}
        self._reruns.keep(call.config, call.id, self.name, call.submission[1], ticket, rerun)
        try:
            with executing(ticket, call.id):
                yield given, notice
        except GraphInterrupt:
            self._reruns.interrupt(call.config)
            raise

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
