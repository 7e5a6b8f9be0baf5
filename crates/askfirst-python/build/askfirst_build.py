"""Builds the package with maturin, and adds the `askfirst` program to it.

The program builds the sandbox and is the command line. The wheel contains it with its digest. `pip install .` uses this
module. `python askfirst_build.py [cargo arguments]` builds the program for `maturin develop`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import maturin
from maturin import (  # noqa: F401 - build hooks without changes
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "crates" / "askfirst-python" / "python" / "askfirst"
# Arguments of maturin that cargo needs too, so that it builds library and program with the same options.
SHARED = {"--profile", "--target", "--target-dir"}
FLAGS = {"--locked", "--offline", "--frozen"}


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build a wheel that contains the program."""
    bring(_arguments(config_settings, "release"))
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build an editable wheel that contains the program, for `pip install -e .`."""
    bring(_arguments(config_settings, "release"))
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def _arguments(config_settings: Any, profile: str) -> list[str]:
    given: Any = (config_settings or {}).get("build-args") or (config_settings or {}).get("maturin.build-args")
    given = os.environ.get("MATURIN_PEP517_ARGS", "") if given is None else given
    words = shlex.split(given) if isinstance(given, str) else list(given)
    kept: list[str] = []
    for at, word in enumerate(words):
        name, _, value = word.partition("=")
        if word in FLAGS:
            kept.append(word)
        elif name in SHARED:
            kept += [name, value or words[at + 1]]
    return kept if "--profile" in kept else ["--profile", profile, *kept]


def bring(arguments: list[str]) -> None:
    """Build the program, and put it and its digest next to the library."""
    cargo = os.environ.get("CARGO", "cargo")
    command = [cargo, "build", "-p", "askfirst-cli", "--bin", "askfirst", "--message-format", "json-render-diagnostics"]
    built = subprocess.run([*command, *arguments], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    made = [json.loads(line).get("executable") for line in built.stdout.splitlines() if line.startswith("{")]
    program = next(path for path in reversed(made) if path)
    place = PACKAGE / "askfirst"
    fresh = place.with_name(f".askfirst-{os.getpid()}")
    shutil.copy(program, fresh)
    strip = shutil.which("strip")
    if strip is not None:
        subprocess.run([strip, str(fresh)], check=False)
    fresh.chmod(0o755)
    digest = hashlib.sha256(fresh.read_bytes()).hexdigest()
    os.replace(fresh, place)
    place.with_name("askfirst.sha256").write_text(f"{digest}  askfirst\n")


if __name__ == "__main__":
    bring(_arguments({"build-args": sys.argv[1:]}, "dev"))
