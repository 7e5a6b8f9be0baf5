"""Drives each agent through each case, and prints a table of the calls that ran.

Each call creates a file, and only that file decides whether the call ran. Exit code 1 if a call ran against a denial, or
did not run although nothing denies it.
"""

import argparse
import contextlib
import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
from datetime import date
from pathlib import Path

from agents import ALL
from model import Model

ASKFIRST = os.environ["ASKFIRST"]
PAGE = Path(__file__).resolve().parents[2] / "docs/guide/agents.md"
BEGIN, END = "<!-- agents: begin, written by tests/agents/run --update -->", "<!-- agents: end -->"
# An agent that takes longer than this hangs.
PATIENCE = 90
CONFIG = """version: 1
sandbox:
  paths:
    project: {{ root: {project}, mode: rw, approval: {{ read: none, write: none }} }}
    drafts: {{ root: {project}/drafts, mode: rw, approval: {{ read: none, write: required }} }}
    fixed: {{ root: {project}/fixed, mode: ro, approval: {{ read: none }} }}
shell:
  rules:
    - {{ pattern: touch denied, approval: deny }}
    - {{ pattern: touch allowed, approval: none }}
    - {{ pattern: touch asked, approval: required }}
"""
RUNS, DENIED, HANGS = "runs", "denied", "hangs"
NO_HOOK = "without askfirst"
# The commands without a failing hook: the file that each creates, and its right outcome. No one is there to approve.
ANSWERS = {
    NO_HOOK: ("free", RUNS),
    "allowed command": ("allowed", RUNS),
    "denied command": ("denied", DENIED),
    "command that needs approval": ("asked", DENIED),
}
# The same for the agent's own tool that writes files.
WRITES = {
    "allowed new file": ("allowed.txt", RUNS),
    "denied new file": ("fixed/denied.txt", DENIED),
    "new file that needs approval": ("drafts/asked.txt", DENIED),
}
# The cases with a hook that fails: the program in place of askfirst.
FAULTS = {
    "hook is missing": None,
    "hook is killed": "kill -9 $$",
    "hook crashes": "exit 1",
    "hook is too slow": "exec sleep 30",
    "hook prints nonsense": "echo nonsense",
}


class Place:
    """A scratch folder with a project, a home, and a copy of askfirst that a case can replace."""

    def __init__(self, folder):
        self.folder = folder
        self.home, self.project, self.bin = folder / "home", folder / "project", folder / "bin"
        for made in [self.home, self.bin, self.project, self.project / "drafts", self.project / "fixed"]:
            made.mkdir()
        self.askfirst = self.bin / "askfirst"
        shutil.copy(ASKFIRST, self.askfirst)
        # The user's own config needs no trust.
        config = self.home / ".config/askfirst/askfirst.yaml"
        config.parent.mkdir(parents=True)
        config.write_text(CONFIG.format(project=self.project))
        self.env = {
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "HOME": str(self.home),
            "TERM": "dumb",
            "LANG": "C.UTF-8",
        }
        self.run(["git", "init", "-q"])

    def run(self, command, **env):
        """Runs a command in the project. Returns its output, or `None` if it hangs."""
        program = subprocess.Popen(
            command,
            cwd=self.project,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            return program.communicate(timeout=PATIENCE)[0]
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()

    def approve(self, command):
        """Runs a command at a terminal, where a person presses `y` once askfirst is ready for an answer."""
        ours, its = pty.openpty()
        # High enough to show the whole page.
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 120, 100, 0, 0))
        command = ["setsid", "--ctty", "--wait", *command]
        program = subprocess.Popen(command, cwd=self.project, env=self.env, stdin=its, stdout=its, stderr=its)
        os.close(its)
        printed = b""
        # Reading fails when the program has ended.
        with contextlib.suppress(OSError):
            while select.select([ours], [], [], PATIENCE)[0]:
                before, printed = printed, printed + os.read(ours, 4096)
                if b"ready:" in printed and b"ready:" not in before:
                    os.write(ours, b"y")
        os.close(ours)
        program.wait(PATIENCE)
        return printed.decode()

    def break_hook(self, body):
        self.askfirst.unlink()
        if body is not None:
            self.askfirst.write_text(f"#!/bin/sh\n{body}\n")
            self.askfirst.chmod(0o755)


class Trial:
    """One call of one agent in a place of its own."""

    def __init__(self, kind, verbose):
        self.kind, self.verbose = kind, verbose

    def run(self, call, name, hook=True, body="", limit=None):
        """Returns whether the file with the name was created."""
        with tempfile.TemporaryDirectory(prefix="askfirst-") as folder:
            place = Place(Path(folder))
            created = place.project / name
            with Model(*call(place)) as model:
                agent = self.kind(place, model.address)
                agent.prepare()
                if hook:
                    agent.install()
                if limit:
                    agent.shorten_limit()
                if body != "":
                    place.break_hook(body)
                output = place.run(agent.command(), **agent.env())
            ended = RUNS if created.exists() else HANGS if output is None else DENIED
            if self.verbose:
                print(f"--- {self.kind.name} {name} {body!r}: {ended}\n{output}")
                print(f"offered: {sorted(model.offered)}\nothers: {model.others}")
                print(f"result: {model.result}")
            if not model.asked:
                sys.exit(f"error: {self.kind.title} never got the call; it printed:\n{output}")
            if ended == DENIED and not model.result:
                sys.exit(f"error: {self.kind.title} ended without an answer to the model; it printed:\n{output}")
            return ended, model.result


def rows(kind, verbose):
    """All cases of an agent: name, outcome, and the outcome that is right, if only one is."""
    trial = Trial(kind, verbose)
    for case, (name, right) in ANSWERS.items():
        ended, told = trial.run(lambda _, name=name: kind.shell(f"touch {name}"), name, hook=case != NO_HOOK)
        if name == "denied" and "denies this command" not in told:
            sys.exit(f"error: {kind.title} did not tell the model why:\n{told}")
        yield case, ended, right
    for case, (name, right) in WRITES.items():
        yield case, trial.run(lambda place, name=name: kind.write(str(place.project / name), "text\n"), name)[0], right
    for case, body in FAULTS.items():
        slow = case == "hook is too slow"
        yield case, trial.run(lambda _: kind.shell("touch allowed"), "allowed", body=body, limit=slow)[0], None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("agents", nargs="*", help="only these agents")
    parser.add_argument("-v", "--verbose", action="store_true", help="print all that the agents print")
    parser.add_argument("--update", action="store_true", help="write the table into docs/guide/agents.md")
    options = parser.parse_args()
    if options.update and options.agents:
        parser.error("--update needs all agents")
    kinds = [kind for kind in ALL if not options.agents or kind.name in options.agents]
    wrong = []
    table = {case: [] for case in [*ANSWERS, *WRITES, *FAULTS]}
    for kind in kinds:
        for case, ended, right in rows(kind, options.verbose):
            print(f"{kind.title}, {case}: {ended}", file=sys.stderr)
            table[case].append(ended)
            if right and ended != right:
                wrong.append(f"error: {kind.title}, {case}: {ended}, not {right}")
    lines = [[str(date.today()), *(f"{kind.title} {kind.version()}" for kind in kinds)], ["---"] * (len(kinds) + 1)]
    lines += [[case, *ended] for case, ended in table.items()]
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    print(text)
    if wrong:
        sys.exit("\n".join(wrong))
    if options.update:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{text}{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
