"""Sessions: config, tools, controller and record, and the ways to make a call through them."""

from __future__ import annotations

import contextvars
import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from . import _askfirst, _assess
from ._controller import ApprovalController, decided
from ._outcome import Denied, ToolFailed
from ._types import ApprovalDecision, ApprovalRequest, Mode, request_to_native

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Literal, TypeAlias

    from typing_extensions import Self

    from ._assess import Assess

    Config: TypeAlias = str | os.PathLike[str] | Mapping[str, Any] | None
    OnDenial: TypeAlias = Literal["return", "stop"]
    Override: TypeAlias = Callable[[str, dict[str, Any], dict[str, Any], dict[str, Any]], Any]
    Ledger: TypeAlias = bool | str | os.PathLike[str] | None
else:
    Config = OnDenial = Override = Ledger = Any

_T = TypeVar("_T")

_session: contextvars.ContextVar[Session | None] = contextvars.ContextVar("askfirst_session", default=None)
_running: contextvars.ContextVar[_askfirst.Ticket | None] = contextvars.ContextVar("askfirst_call", default=None)
_batches = itertools.count(1)


class Session:
    """One run of an agent: all its calls share config, memory and record.

    ``config`` is the path of a config file or a dict; without it only the controller and the tools speak, and what
    nobody speaks for is asked about. ``ledger`` is ``False`` for no record, ``True`` for the config's place, or a path.
    A call that is denied gives a `Denied` text, or raises `ApprovalDenied` with ``on_denial="stop"``.

    >>> session = Session({"tools": {"add": {"approval": "none"}, "rm": {"approval": "deny"}}})
    >>> session.run("add", {"a": 1, "b": 2}, lambda a, b: a + b)
    3
    >>> print(session.run("rm", {"path": "x"}, print))
    `rm` was refused (policy): denied by `tools.rm`: approval: deny
    """

    def __init__(
        self,
        config: Config = None,
        *,
        controller: ApprovalController | None = None,
        assess: Assess | None = None,
        override: Override | None = None,
        ledger: Ledger = False,
        session_id: str | None = None,
        on_denial: OnDenial | None = None,
        tools: Mapping[str, Callable[..., Any]] | Iterable[Callable[..., Any]] | None = None,
        builtin_tools: bool = False,
        _read: _askfirst.Config | None = None,
        _metadata_of: Callable[[Any], dict[str, Any]] | None = None,
    ) -> None:
        if controller is not None and not isinstance(controller, ApprovalController):
            raise TypeError(f"`controller` must be an ApprovalController, not {type(controller).__name__}")
        if on_denial not in (None, "return", "stop"):
            raise ValueError(f"`on_denial` must be return or stop, not {on_denial!r}")
        read = _read if _read is not None else read_config({"version": 1} if config is None else config)
        self._controller = ApprovalController() if controller is None else controller
        self._on_denial: str = read.on_denial if on_denial is None else on_denial
        self._tools = _named(tools)
        self._native = _askfirst.Session(
            read,
            self._controller._native,
            on_denial=self._on_denial,
            assess=assess,
            overriding=override,
            record=ledger is not False and ledger is not None,
            ledger=None if isinstance(ledger, bool) or ledger is None else os.fspath(ledger),
            session_id=session_id,
            library=_askfirst.__file__ if builtin_tools else None,
            metadata_of=_metadata_of,
        )
        self.start = self._native.start
        self.start_in = self._native.start_in
        self._token: contextvars.Token[Session | None] | None = None
        self._built_in = {tool["name"] for tool in self._native.definitions()}
        both = self._built_in & set(self._tools)
        if both:
            raise ValueError(f"`{min(both)}` is a tool of the config; hint: give yours another name")

    @property
    def id(self) -> str:
        """The name of the session; calls are numbered below it in the record."""
        return self._native.id

    @property
    def controller(self) -> ApprovalController:
        """Mode, memory and whoever is asked."""
        return self._controller

    @property
    def on_denial(self) -> str:
        """``return`` or ``stop``."""
        return self._on_denial

    def submit(self, calls: Iterable[Sequence[Any]]) -> list[_askfirst.Ticket]:
        """Takes calls that belong together, each ``(tool_name, args[, metadata[, assess]])``.

        All are judged before the first question is asked. What comes back are the calls on their way.
        """
        return self._native.submit([_four(call) for call in calls])

    def decide(
        self, tool_name: str, args: Any = None, metadata: Any = None, assess: Assess | None = None
    ) -> dict[str, Any]:
        """The judge's verdict alone: ``allow``, ``ask`` or ``deny``, with its reasons. Nobody is asked."""
        return self._native.decide(tool_name, {} if args is None else args, metadata, assess)

    def define(self, definition: Mapping[str, Any]) -> None:
        """Tells of a tool's definition: a yes that was remembered does not reach a tool that changed."""
        self._native.define(dict(definition))

    def definitions(self) -> list[dict[str, Any]]:
        """The config's own tools, as a model is told of them."""
        return self._native.definitions()

    def run(
        self,
        tool_name: str,
        args: Any,
        execute: Callable[..., _T],
        *,
        metadata: Any = None,
        assess: Assess | None = None,
    ) -> _T | Denied:
        """Makes a call: ``execute(**args)`` if it is permitted, with the arguments as a person may have edited them."""
        with self._controller._blocking():
            ticket = self.start(tool_name, args, metadata, assess)
        if ticket.state == "wait":
            ticket.wait()
        return self.go_on(ticket, execute)

    async def run_async(
        self,
        tool_name: str,
        args: Any,
        execute: Callable[..., Any],
        *,
        metadata: Any = None,
        assess: Assess | None = None,
    ) -> Any:
        """The same on an event loop, which is never blocked by a question. ``execute`` may be async."""
        ticket = self.start(tool_name, args, metadata, assess)
        if ticket.state == "wait":
            await ticket.changed()
        return await self.go_on_async(ticket, execute)

    async def run_many_async(self, calls: Iterable[Sequence[Any]]) -> list[Any]:
        """Makes calls that belong together, each ``(tool_name, args, execute[, metadata])``.

        They are judged together and asked about as one group; those that may run, run side by side.
        """
        import asyncio

        made = [tuple(call) for call in calls]
        tickets = self._native.submit(together([(call[0], call[1], call[3] if len(call) > 3 else None) for call in made]))
        tasks = [asyncio.ensure_future(self._to_its_end(t, call[2])) for t, call in zip(tickets, made)]
        try:
            return list(await asyncio.gather(*tasks))
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    async def _to_its_end(self, ticket: _askfirst.Ticket, execute: Callable[..., Any]) -> Any:
        if ticket.state == "wait":
            await ticket.changed()
        return await self.go_on_async(ticket, execute)

    def call(self, tool_name: str, args: Any = None, *, metadata: Any = None) -> Any:
        """Calls one of the session's tools by name: those given as ``tools``, and those of the config."""
        tool = self._tools.get(tool_name)
        if tool is not None:
            return self.run(tool_name, args, tool, metadata=metadata, assess=_assess.of(tool, self._controller.memory))
        self._must_know(tool_name)
        with self._controller._blocking():
            ticket = self.start(tool_name, args, metadata)
        ticket.wait()
        return self._result(ticket)

    async def call_async(self, tool_name: str, args: Any = None, *, metadata: Any = None) -> Any:
        """The same on an event loop."""
        tool = self._tools.get(tool_name)
        if tool is not None:
            assess = _assess.of(tool, self._controller.memory)
            return await self.run_async(tool_name, args, tool, metadata=metadata, assess=assess)
        self._must_know(tool_name)
        ticket = self.start(tool_name, args, metadata)
        await ticket.changed()
        return self._result(ticket)

    def go_on(self, ticket: _askfirst.Ticket, execute: Callable[..., _T]) -> _T | Denied:
        """Runs what a ticket permits, says how it ended, and gives the result; or what a denial gives."""
        if ticket.state != "run":
            return self._result(ticket)  # type: ignore[no-any-return]
        token = _running.set(ticket)
        try:
            result = execute(**ticket.args)
        except BaseException as error:
            ticket.finish(error=error)
            raise
        finally:
            _running.reset(token)
        if ticket.finish(result) != "done":
            self._result(ticket)
        return result

    async def go_on_async(self, ticket: _askfirst.Ticket, execute: Callable[..., Any]) -> Any:
        """The same, where ``execute`` may be async."""
        if ticket.state != "run":
            return self._result(ticket)
        token = _running.set(ticket)
        try:
            result = execute(**ticket.args)
            if hasattr(result, "__await__"):
                result = await result
        except BaseException as error:
            ticket.finish(error=error)
            raise
        finally:
            _running.reset(token)
        if ticket.finish(result) != "done":
            self._result(ticket)
        return result

    def guard(self, tool: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
        """The same function behind approval, in this session."""
        from ._guard import guard

        return guard(tool, name=name, session=self)

    def denied(self, ticket: _askfirst.Ticket) -> Denied | None:
        """The denial of a ticket that is done, as the agent is told of it."""
        outcome = ticket.outcome
        return None if outcome is None else outcome.denied()

    def close(self) -> None:
        """Ends what the config's own tools started. The session takes no more of their processes."""
        self._native.close()

    def _result(self, ticket: _askfirst.Ticket) -> Any:
        outcome = ticket.outcome
        if outcome is None:
            raise RuntimeError("the call has not ended")
        if outcome.kind == "done":
            return outcome.result
        no = outcome.denied()
        if no is None:
            raise ToolFailed(outcome.text, kind=outcome.error or "failed", result=outcome.result)
        if no.ends_run:
            raise no.error()
        return no

    def _must_know(self, tool_name: str) -> None:
        if tool_name not in self._built_in:
            raise LookupError(f"there is no tool `{tool_name}` in this session")

    def __enter__(self) -> Self:
        self._token = _session.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            _session.reset(self._token)
            self._token = None
        self.close()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def __repr__(self) -> str:
        return f"<askfirst.Session {self._native.id}>"


def read_config(config: Config) -> _askfirst.Config:
    """Reads a config: a path, a dict, or for ``None`` the one in force in this folder."""
    if config is None:
        return _askfirst.Config()
    if isinstance(config, (str, os.PathLike)):
        return _askfirst.Config(os.fspath(config))
    return _askfirst.Config(None, config if "version" in config else {"version": 1, **config})


def _named(
    tools: Mapping[str, Callable[..., Any]] | Iterable[Callable[..., Any]] | None,
) -> dict[str, Callable[..., Any]]:
    if tools is None:
        return {}
    made: dict[str, Callable[..., Any]] = {}
    given: Any = tools
    if isinstance(given, Mapping):
        made.update(given)
        return made
    for tool in given:
        name = tool.__name__
        if name in made:
            raise ValueError(f"there are two tools `{name}`")
        made[name] = tool
    return made


def submit_together(calls: Sequence[tuple[Session, Sequence[Any]]]) -> list[_askfirst.Ticket]:
    """Takes calls of several sessions that belong together, each with its session; as `Session.submit` does for one."""
    sessions = [session._native for session, _ in calls]
    return _askfirst.submit_together(sessions, [_four(call) for _, call in calls])


def _four(call: Sequence[Any]) -> tuple[Any, ...]:
    return (*call, None, None)[:4] if len(call) < 4 else tuple(call)


def together(calls: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Calls as a group: one ``batch_id`` for all that name none."""
    if len(calls) < 2:
        return [(*call, None)[:4] for call in calls]
    batch = f"batch-{next(_batches)}"
    return [(name, args, {"batch_id": batch, **(metadata or {})}, None) for name, args, metadata in calls]


def session(
    config: Config = None,
    *,
    mode: Mode = "interactive",
    approval_callback: Callable[..., Any] | None = None,
    controller: ApprovalController | None = None,
    ledger: Ledger = True,
    on_denial: OnDenial | None = None,
    tools: Mapping[str, Callable[..., Any]] | Iterable[Callable[..., Any]] | None = None,
    builtin_tools: bool = True,
) -> Session:
    """A session as the command line has one: the config in force, its tools, and the record.

    >>> with session({"tools": {"add": {"approval": "none"}}}, ledger=False) as s:
    ...     s.run("add", {"a": 1, "b": 2}, lambda a, b: a + b)
    3
    """
    from ._memory import ApprovalMemory

    read = read_config(config)
    if controller is not None and (approval_callback is not None or mode != "interactive"):
        raise ValueError("`controller` brings its own mode and callback; hint: give one or the other")
    if controller is None:
        controller = ApprovalController(
            mode,
            approval_callback,
            memory=ApprovalMemory(expire=read.memory_expire),
            timeout=read.approval_timeout,
            _config=read,
        )
    return Session(
        controller=controller,
        ledger=ledger,
        on_denial=on_denial,
        tools=tools,
        builtin_tools=builtin_tools,
        _read=read,
    )


def current_session() -> Session | None:
    """The session of the ``with`` block around, if there is one."""
    return _session.get()


def _ask_nested(request: ApprovalRequest | Mapping[str, Any]) -> _askfirst.Ticket:
    ticket = _running.get()
    if ticket is None:
        raise RuntimeError("only a tool that runs through askfirst can ask")
    return ticket.ask(request_to_native(request))


async def request_approval(request: ApprovalRequest | Mapping[str, Any]) -> ApprovalDecision:
    """Asks while a tool runs: recorded below its call."""
    asked = _ask_nested(request)
    if asked.state == "wait":
        await asked.changed()
    return decided(asked)


def request_approval_sync(request: ApprovalRequest | Mapping[str, Any]) -> ApprovalDecision:
    """The same, waiting for it."""
    asked = _ask_nested(request)
    if asked.state == "wait":
        asked.wait()
    return decided(asked)


async def execute_tool(
    tool_func: Callable[..., Any],
    tool_name: str,
    args: Any,
    approval_controller: ApprovalController,
    context_metadata: Mapping[str, Any] | None = None,
) -> Any:
    """Runs a tool, asking first where its ``check_approval`` says so. A denial raises `ApprovalDenied`.

    >>> import asyncio
    >>> asyncio.run(execute_tool(lambda a: a + 1, "add", {"a": 1}, ApprovalController(mode="strict")))
    2
    """
    plain = Session({"default_approval": "none"}, controller=approval_controller, on_denial="return")
    assess = _assess.of(tool_func, approval_controller.memory)
    result = await plain.run_async(tool_name, args, tool_func, metadata=context_metadata, assess=assess)
    if isinstance(result, Denied):
        raise result.error()
    return result


__all__ = [
    "Session",
    "current_session",
    "execute_tool",
    "read_config",
    "request_approval",
    "request_approval_sync",
    "session",
    "together",
]
