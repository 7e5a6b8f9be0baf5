"""The judge alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._controller import ApprovalController
from ._session import Session, read_config

if TYPE_CHECKING:
    from ._session import Config


class Judge:
    """A policy that judges calls. It asks nobody and runs nothing.

    ``config`` is the path of a config file, or a config as a dict; without it, the config in force here is read.

    >>> Judge({"tools": {"rm": {"approval": "deny"}}}).decide("rm")["verdict"]
    'deny'
    """

    def __init__(self, config: Config = None) -> None:
        self._config = read_config(config)
        controller = ApprovalController(mode="strict")
        self._session = Session(controller=controller, builtin_tools=True, _read=self._config)

    @property
    def warnings(self) -> list[str]:
        """Older spellings and other things to say once."""
        return self._config.warnings

    def decide(self, tool: str, args: Any = None, metadata: Any = None) -> dict[str, Any]:
        """The verdict about a call: ``allow``, ``ask`` or ``deny``, with its reasons.

        Arguments that are not JSON are denied, never guessed at.
        """
        return self._session.decide(tool, args, metadata)
