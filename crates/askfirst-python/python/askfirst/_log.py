"""Logs exceptions of the program's own callbacks through ``logging``."""

from __future__ import annotations


def log_failure(failed: str, error: BaseException) -> None:
    """Log an exception with its traceback to the logger ``askfirst``."""
    import logging

    logging.getLogger("askfirst").error("%s", failed, exc_info=error)
