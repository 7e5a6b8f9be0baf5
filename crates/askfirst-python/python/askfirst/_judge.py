"""Judges calls without asking or running anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._controller import ApprovalController
from ._session import Session, read_config

if TYPE_CHECKING:
    from ._session import Config


class Judge:
    """Judges calls by a config. It asks no one and runs nothing.

    ``config`` is the path of a config file or a dict. Without it, the config in force in this folder counts.

    >>> Judge({"tools": {"rm": {"approval": "deny"}}}).decide("rm")["verdict"]
    'deny'
    """

    def __init__(self, config: Config = None) -> None:
        self._config = read_config(config)
        controller = ApprovalController(mode="strict")
        self._session = Session(controller=controller, ledger=False, builtin_tools=True, _read=self._config)

    @property
    def warnings(self) -> list[str]:
        """Warnings about older spellings and weak settings."""
        return self._config.warnings

    def decide(self, tool: str, args: Any = None, metadata: Any = None) -> dict[str, Any]:
        """Return the verdict about a call: ``allow``, ``ask`` or ``deny``, with its reasons.

        A call with arguments that are not JSON is denied.
        """
        return self._session.decide(tool, args, metadata)
