"""A person between an AI agent and the tools it calls.

For now: the judge. ``Judge("askfirst.yaml").decide("send_email", {"to": "ada"})`` gives the same verdict as
``askfirst decide`` on the command line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from . import _askfirst

__version__: str = _askfirst.__version__
__all__ = ["Judge", "__version__"]


class Judge:
    """A policy that judges calls. It asks nobody and runs nothing.

    ``config`` is the path of a config file, or a config as a dict; without it, the config in force here is read.
    """

    def __init__(self, config: str | os.PathLike[str] | Mapping[str, Any] | None = None) -> None:
        if isinstance(config, Mapping):
            self._judge = _askfirst.Judge(None, json.dumps(config, allow_nan=False))
        else:
            self._judge = _askfirst.Judge(None if config is None else os.fspath(config))

    @property
    def warnings(self) -> list[str]:
        """Older spellings and other things to say once."""
        return self._judge.warnings

    def decide(
        self, tool: str, args: Mapping[str, Any] | None = None, metadata: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The verdict about a call: ``allow``, ``ask`` or ``deny``, with its reasons.

        Arguments that are not JSON are denied, never guessed at.
        """
        try:
            texts = [json.dumps(dict(part or {}), allow_nan=False) for part in (args, metadata)]
        except (TypeError, ValueError, RecursionError) as error:
            because = {"rule": "arguments", "file": None, "line": None, "text": f"not JSON: {error}"}
            return {"verdict": "deny", "because": [because]}
        return json.loads(self._judge.decide(tool, *texts))
