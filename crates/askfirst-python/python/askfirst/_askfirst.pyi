"""The native half: the one pipeline, driven by hand from Python."""

import os
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal, final

from ._outcome import Outcome

__version__: str

State = Literal["run", "wait", "done"]

class ConfigError(ValueError):
    """A config that cannot be used: every fault, with its place."""

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
        record: bool = False,
        ledger: str | os.PathLike[str] | None = None,
        session_id: str | None = None,
        library: str | os.PathLike[str] | None = None,
        metadata_of: Callable[[Any], dict[str, Any]] | None = None,
    ) -> Session: ...
    @property
    def id(self) -> str: ...
    def start(
        self,
        tool_name: str,
        args: Any,
        metadata: Any = None,
        assess: Callable[..., Any] | None = None,
    ) -> Ticket: ...
    def start_in(self, tool_name: str, args: Any, context: Any, assess: Callable[..., Any] | None) -> Ticket: ...
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
class Ticket:
    """One call on its way, or one question."""

    @property
    def state(self) -> State:
        """`run`: the tool may run now. `wait`: somebody is asked, or a built-in tool works. `done`: see `outcome`."""
    def poll(self) -> State:
        """Goes on as far as it can without waiting, and gives the state."""
    def wait(self, timeout: float | None = None) -> State:
        """Waits until it is no longer `wait`, or for so many seconds. Ctrl-C takes the question back."""
    def on_change(self, callback: Callable[[], object]) -> None:
        """Calls `callback` once, from any thread, when it is worth to `poll` again."""
    def changed(self) -> Coroutine[Any, Any, State]:
        """Waits on the running event loop until it is no longer `wait`. Cancelled, it takes the question back."""
    def cancel(self) -> None:
        """Gives the call or question up while it waits."""
    @property
    def args(self) -> dict[str, Any]:
        """What the tool is to be called with, once it may run."""
    @property
    def edited(self) -> bool:
        """Whether a person has edited the arguments."""
    def finish(self, result: Any = None, error: BaseException | None = None) -> Literal["done", "failed"]:
        """Says that the tool ran, and how: with a result, or with an error."""
    def ask(self, request: dict[str, Any]) -> Ticket:
        """Asks while the tool runs. Gives a ticket whose outcome is a decision."""
    @property
    def outcome(self) -> Outcome | None:
        """What became of it; nothing before it is done."""

def submit_together(sessions: Sequence[Session], calls: Sequence[tuple[Any, ...]]) -> list[Ticket]: ...
def to_json(value: Any, tagged: bool = False) -> str: ...
def plain(value: Any) -> Any: ...
def sandbox_tier(library: str | os.PathLike[str]) -> tuple[str | None, str | None]: ...
