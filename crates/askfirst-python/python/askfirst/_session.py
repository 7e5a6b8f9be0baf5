"""Sessions: config, tools, controller and audit log, and the functions that make calls through them."""

from __future__ import annotations

import contextvars
import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from . import _askfirst, _assess, _json
from ._arguments import warn_of_unknown_tools
from ._controller import ApprovalController, decided
from ._memory import not_picklable
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
    """One run of an agent. All its calls share config, memory and audit log.

    ``config`` is the path of a config file or a dict. Without it, askfirst asks about every call that its tool does not
    call harmless. ``ledger`` is a path, ``True`` for the place that the config names, or ``False`` for no audit log.
    Without it, the session keeps one if the config has a section ``ledger``. A refused call returns a `Denied` text.
    With ``on_denial="stop"``, a person's no raises `ApprovalDenied` instead.

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
        ledger: Ledger = None,
        session_id: str | None = None,
        on_denial: OnDenial | None = None,
        tools: Mapping[str, Callable[..., Any]] | Iterable[Callable[..., Any]] | None = None,
        builtin_tools: bool = False,
        _read: _askfirst.Config | None = None,
        _override_keys: bool = False,
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
            record=None if ledger is None else ledger is not False,
            ledger=None if isinstance(ledger, bool) or ledger is None else os.fspath(ledger),
            session_id=session_id,
            library=_askfirst.__file__ if builtin_tools else None,
            metadata_of=_metadata_of,
            override_keys=_override_keys,
        )
        self.start = self._native.start
        self.start_in = self._native.start_in
        self._token: contextvars.Token[Session | None] | None = None
        self._built_in = {tool["name"] for tool in self._native.definitions()}
        # The tools that the config names, until it is known which tools are offered.
        self._unchecked = set(read.tool_names)
        if self._tools:
            self._check_tool_names(self._tools)
        both = self._built_in & set(self._tools)
        if both:
            raise ValueError(f"the config has a tool `{min(both)}` too; hint: use another name for yours")

    @property
    def id(self) -> str:
        """The name of the session. The ids of its calls start with it."""
        return self._native.id

    @property
    def controller(self) -> ApprovalController:
        """The controller: mode, memory and approver."""
        return self._controller

    @property
    def on_denial(self) -> str:
        """``return`` or ``stop``."""
        return self._on_denial

    def submit(self, calls: Iterable[Sequence[Any]]) -> list[_askfirst.Ticket]:
        """Submit calls that belong together, each ``(tool_name, args[, metadata[, assess]])``.

        askfirst judges all of them before it asks the first question. Return one ticket for each call.
        """
        return self._native.submit([_four(call) for call in calls])

    def decide(
        self, tool_name: str, args: Any = None, metadata: Any = None, assess: Assess | None = None
    ) -> dict[str, Any]:
        """Judge a call without asking or running it: ``allow``, ``ask`` or ``deny``, with reasons."""
        return self._native.decide(tool_name, {} if args is None else args, metadata, assess)

    def define(self, definition: Mapping[str, Any]) -> None:
        """Set the definition of a tool. A remembered approval does not cover another definition."""
        self._native.define(dict(definition))

    def definitions(self) -> list[dict[str, Any]]:
        """Return the definitions of the config's tools, for a model."""
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
        """Make a call: run ``execute(**args)`` if it is permitted. A person may have edited the arguments."""
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
        """Async version of `run`. A question never blocks the event loop. ``execute`` may be async."""
        ticket = self.start(tool_name, args, metadata, assess)
        if ticket.state == "wait":
            await ticket.changed()
        return await self.go_on_async(ticket, execute)

    async def run_many_async(self, calls: Iterable[Sequence[Any]]) -> list[Any]:
        """Make calls that belong together, each ``(tool_name, args, execute[, metadata])``.

        askfirst judges them together and asks about them as one group. The permitted calls run concurrently.
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
        """Call a tool by name: one of ``tools``, or one of the config."""
        tool = self._tools.get(tool_name)
        if tool is not None:
            _check_args(tool, args)
            return self.run(tool_name, args, tool, metadata=metadata, assess=_assess.of(tool, self._controller.memory))
        self._must_know(tool_name)
        with self._controller._blocking():
            ticket = self.start(tool_name, args, metadata)
        ticket.wait()
        return self._result(ticket)

    async def call_async(self, tool_name: str, args: Any = None, *, metadata: Any = None) -> Any:
        """Async version of `call`."""
        tool = self._tools.get(tool_name)
        if tool is not None:
            _check_args(tool, args)
            assess = _assess.of(tool, self._controller.memory)
            return await self.run_async(tool_name, args, tool, metadata=metadata, assess=assess)
        self._must_know(tool_name)
        ticket = self.start(tool_name, args, metadata)
        await ticket.changed()
        return self._result(ticket)

    def go_on(self, ticket: _askfirst.Ticket, execute: Callable[..., _T]) -> _T | Denied:
        """Run the call of a ticket and return its result, or return the refusal."""
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
        """Async version of `go_on`. ``execute`` may be async."""
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
        """Return a function with the same signature whose calls go through this session."""
        from ._guard import guard

        return guard(tool, name=name, session=self)

    def denied(self, ticket: _askfirst.Ticket) -> Denied | None:
        """Return the refusal of a ticket for the agent, or ``None`` if the call was not refused."""
        outcome = ticket.outcome
        return None if outcome is None else outcome.denied()

    def close(self) -> None:
        """End all processes of the config's tools. The session starts no more."""
        self._native.close()

    def _result(self, ticket: _askfirst.Ticket) -> Any:
        outcome = ticket.outcome
        if outcome is None:
            raise RuntimeError("the call is not done")
        if outcome.kind == "done":
            return outcome.result
        no = outcome.denied()
        if no is None:
            raise ToolFailed(outcome.text, kind=outcome.error or "failed", result=outcome.result)
        if no.ends_run:
            raise no.error()
        return no

    def _check_tool_names(self, offered: Iterable[str]) -> None:
        """Warn about entries of the config for tools that are not offered, once."""
        names, known = sorted(self._unchecked), self._built_in.union(offered)
        self._unchecked.clear()
        warn_of_unknown_tools(names, known)

    def _must_know(self, tool_name: str) -> None:
        if tool_name not in self._built_in:
            raise LookupError(f"this session has no tool `{tool_name}`")

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

    def __reduce__(self) -> Any:
        raise TypeError(not_picklable("askfirst Session"))

    def __repr__(self) -> str:
        return f"<askfirst.Session {self._native.id}>"


def read_config(config: Config) -> _askfirst.Config:
    """Read a config from a path or a dict. ``None`` reads the config in force in this folder."""
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
            raise ValueError(f"two tools have the name `{name}`")
        made[name] = tool
    return made


def _check_args(tool: Callable[..., Any], args: Any) -> None:
    """Raise ``TypeError`` if a tool cannot be called with these arguments, before a person is asked."""
    import inspect

    try:
        signature, fields = inspect.signature(tool), _json.fields(args)
    except (TypeError, ValueError):
        return  # The pipeline refuses arguments that are not a mapping.
    if all(isinstance(name, str) for name in fields):
        signature.bind(**fields)


def submit_together(calls: Sequence[tuple[Session, Sequence[Any]]]) -> list[_askfirst.Ticket]:
    """Submit calls of several sessions that belong together, like `Session.submit`."""
    sessions = [session._native for session, _ in calls]
    return _askfirst.submit_together(sessions, [_four(call) for _, call in calls])


def _four(call: Sequence[Any]) -> tuple[Any, ...]:
    return (*call, None, None)[:4] if len(call) < 4 else tuple(call)


def together(calls: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the calls with a common ``batch_id``, except those that have one."""
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
    """Open a session like that of the command line: with the config in force, its tools, and the audit log.

    >>> with session({"tools": {"add": {"approval": "none"}}}, ledger=False) as s:
    ...     s.run("add", {"a": 1, "b": 2}, lambda a, b: a + b)
    3
    """
    from ._memory import ApprovalMemory

    read = read_config(config)
    if controller is not None and (approval_callback is not None or mode != "interactive"):
        raise ValueError("`controller` has its own mode and callback; hint: omit `mode` and `approval_callback`")
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
    """Return the session of the ``with`` block around the caller, or ``None``."""
    return _session.get()


def _ask_nested(request: ApprovalRequest | Mapping[str, Any]) -> _askfirst.Ticket:
    ticket = _running.get()
    if ticket is None:
        raise RuntimeError("only a running tool can ask; hint: run the tool through askfirst")
    return ticket.ask(request_to_native(request))


async def request_approval(request: ApprovalRequest | Mapping[str, Any]) -> ApprovalDecision:
    """Ask while a tool runs. The request is logged as a part of the tool's call."""
    asked = _ask_nested(request)
    if asked.state == "wait":
        await asked.changed()
    return decided(asked)


def request_approval_sync(request: ApprovalRequest | Mapping[str, Any]) -> ApprovalDecision:
    """Blocking version of `request_approval`."""
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
    """Run a tool, and ask first if its ``check_approval`` says so. A refusal raises `ApprovalDenied`.

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
