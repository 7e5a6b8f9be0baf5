"""`python -m askfirst`: runs the command line of the package."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Replace this process with the program."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "askfirst")
    try:
        os.execv(program, ["askfirst", *sys.argv[1:]])
    except OSError as error:
        print(f"error: cannot start `{program}`: {error.strerror}", file=sys.stderr)
        raise SystemExit(125) from None


if __name__ == "__main__":
    main()
