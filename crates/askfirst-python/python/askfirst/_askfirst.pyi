"""The native half: Python drives the calls of the one pipeline."""

import os
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal, final

from ._outcome import Outcome

__version__: str

State = Literal["run", "wait", "done"]

class ConfigError(ValueError):
    """The config is invalid. The message lists every error with its place."""

@final
class Memory:
    def __new__(cls, expire: float | None = None) -> Memory: ...
    def lookup(self, tool_name: str, payload: Any) -> dict[str, Any] | None: ...
    def store(self, tool_name: str, payload: Any, decision: dict[str, Any]) -> int | None: ...
    def clear(self) -> None: ...
    def revoke(self, number: int) -> bool: ...
    def list(self) -> list[dict[str, Any]]: ...

@final
class Answer:
    def send(self, decisions: Sequence[dict[str, Any]]) -> None: ...
    def add(self, decision: dict[str, Any]) -> bool: ...
    def fail(self, note: str) -> None: ...

@final
class Config:
    def __new__(cls, path: str | os.PathLike[str] | None = None, data: Any = None) -> Config: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def approval_timeout(self) -> float: ...
    @property
    def memory_expire(self) -> float: ...
    @property
    def tool_names(self) -> list[str]: ...
    @property
    def on_denial(self) -> str: ...

@final
class Controller:
    def __new__(
        cls,
        mode: str,
        memory: Memory,
        time_out: float | None = None,
        ask: Callable[..., None] | None = None,
        withdraw: Callable[..., None] | None = None,
        config: Config | None = None,
    ) -> Controller: ...
    def request(self, request: dict[str, Any]) -> Ticket: ...
    def is_session_approved(self, request: dict[str, Any]) -> bool: ...
    def add_session_approval(self, request: dict[str, Any]) -> None: ...
    def stop(self) -> None: ...
    @property
    def is_stopped(self) -> bool: ...

@final
class Session:
    def __new__(
        cls,
        config: Config,
        controller: Controller,
        *,
        on_denial: str | None = None,
        assess: Callable[..., Any] | None = None,
        overriding: Callable[..., Any] | None = None,
        record: bool | None = None,
        ledger: str | os.PathLike[str] | None = None,
        session_id: str | None = None,
        library: str | os.PathLike[str] | None = None,
        metadata_of: Callable[[Any], dict[str, Any]] | None = None,
        override_keys: bool = False,
    ) -> Session: ...
    @property
    def id(self) -> str: ...
    def start(
        self,
        tool_name: str,
        args: Any,
        metadata: Any = None,
        assess: Callable[..., Any] | None = None,
        approval: Approval | None = None,
    ) -> Ticket: ...
    def start_in(
        self,
        tool_name: str,
        args: Any,
        context: Any,
        assess: Callable[..., Any] | None,
        approval: Approval | None = None,
    ) -> Ticket: ...
    def submit(self, calls: Sequence[tuple[Any, ...]]) -> list[Ticket]: ...
    def decide(
        self,
        tool_name: str,
        args: Any,
        metadata: Any = None,
        assess: Callable[..., Any] | None = None,
    ) -> dict[str, Any]: ...
    def define(self, definition: dict[str, Any]) -> None: ...
    def definitions(self) -> list[dict[str, Any]]: ...
    def close(self) -> None: ...

@final
class Approval:
    """A person's approval of one call. It answers the same request about the same call once more."""

@final
class Ticket:
    """One pending call or question."""

    @property
    def state(self) -> State:
        """`run`: the tool may run. `wait`: a person is asked, or a tool of the config runs. `done`: see `outcome`."""
    def poll(self) -> State:
        """Continue as far as possible without waiting. Return the state."""
    def wait(self, timeout: float | None = None) -> State:
        """Block while the state is `wait`, for at most `timeout` seconds. Ctrl-C cancels the call or question."""
    def on_change(self, callback: Callable[[], object]) -> None:
        """Call `callback` once, from any thread, when `poll` can make progress."""
    def changed(self) -> Coroutine[Any, Any, State]:
        """Wait on the running event loop while the state is `wait`. Canceling the wait cancels the call or question."""
    def cancel(self) -> None:
        """Cancel the call or question if it still waits."""
    @property
    def args(self) -> dict[str, Any]:
        """The arguments for the tool, once it may run."""
    @property
    def edited(self) -> bool:
        """Whether a person edited the arguments."""
    @property
    def by_person(self) -> bool:
        """Whether a person approved or edited this call."""
    @property
    def notice(self) -> str | None:
        """A text for the model that goes with the result: the edited arguments and the note of a person."""
    @property
    def approval(self) -> Approval | None:
        """The approval of the person who approved this call, or `None`. It answers the same request once more."""
    def finish(self, result: Any = None, error: BaseException | None = None) -> Literal["done", "failed"]:
        """Report the result or the error of the tool."""
    def ask(self, request: dict[str, Any]) -> Ticket:
        """Ask while the tool runs. Return a ticket whose outcome is a decision."""
    @property
    def outcome(self) -> Outcome | None:
        """The outcome, or `None` while the ticket is not done."""

def submit_together(sessions: Sequence[Session], calls: Sequence[tuple[Any, ...]]) -> list[Ticket]: ...
def check_args(schema: Any, args: Any) -> str | None: ...
def to_json(value: Any, tagged: bool = False) -> str: ...
def plain(value: Any) -> Any: ...
def sandbox_tier(library: str | os.PathLike[str]) -> tuple[str | None, str | None]: ...
