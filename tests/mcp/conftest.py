"""Fixtures of all tests here: a place with a config, the gateway in it, and servers behind the gateway."""

import contextlib
import json
import os
import queue
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

HOME = Path(os.environ["MCP_HOME"])
ASKFIRST = os.environ["ASKFIRST"]
FIXTURE = os.environ["FIXTURE"]
MODULES = HOME / "node_modules"
PATIENCE = 60


def node():
    """The Node that came with the pins, else the one at hand (the runner has seen to it that it is new enough)."""
    own = sorted(MODULES.glob("node-linux-*/bin/node"))
    return str(own[0]) if own else "node"


EVERYTHING = str(MODULES / "@modelcontextprotocol/server-everything/dist/index.js")
FILESYSTEM = str(MODULES / "@modelcontextprotocol/server-filesystem/dist/index.js")
CONFORMANCE = str(MODULES / "@modelcontextprotocol/conformance/dist/index.js")


SHELF = """
version: 1
ledger: { path: ./record.jsonl }
sandbox:
  require_os_sandbox: false
  paths: { shelf: { root: ./shelf, mode: rw, approval: { read: none, write: required } } }
tools:
  count: { command: [wc, -w, --, "{path}"], args: { path: { type: string } }, approval: none }
"""


class Place:
    """A folder of its own with a config, in which nothing of the user's is read or written."""

    def __init__(self, folder):
        self.folder = folder
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }
        self.config("{}")

    def config(self, tools):
        """Writes the config. askfirst refuses tools that it does not name, because it can ask no one here."""
        text = f"version: 1\nledger: {{ path: ./record.jsonl }}\ntools: {tools}\n"
        (self.folder / "c.yaml").write_text(text)

    def shelf(self):
        """A config with a folder to read and write, and a file in it."""
        shelf = self.folder / "shelf"
        shelf.mkdir()
        (shelf / "note.txt").write_text("buy milk")
        (self.folder / "c.yaml").write_text(SHELF)
        return shelf

    def gateway(self, *args):
        """The gateway's command. There is no terminal to ask at: the runner has made a session of its own."""
        return [ASKFIRST, "--config", "c.yaml", "mcp", *args]

    def behind(self, name, *server):
        """The command of a server behind the gateway; what the server hears is kept in the file `heard`."""
        heard = ["sh", "-c", 'tee -a heard | exec "$@"', "sh", *server]
        return self.gateway("--name", name, "--", *heard)

    def heard(self):
        return [json.loads(line) for line in (self.folder / "heard").read_text().splitlines()]

    def recorded(self):
        return (self.folder / "record.jsonl").read_text()

    @contextlib.contextmanager
    def running(self, command, sign, **env):
        """Starts a program, waits for the line with the sign, gives what follows it on that line, and ends it."""
        program = subprocess.Popen(
            command,
            cwd=self.folder,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        lines = queue.Queue()

        def read():
            for line in program.stdout:
                lines.put(line)
            lines.put(None)

        threading.Thread(target=read, daemon=True).start()
        try:
            said = []
            while True:
                line = lines.get(timeout=PATIENCE)
                assert line is not None, f"{command} ended: {said}"
                said.append(line)
                if sign in line:
                    break
            yield line.partition(sign)[2].strip()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, 15)
            program.wait(PATIENCE)

    def server(self, *args):
        """The command of our own server, with the tools that the config offers."""
        return [ASKFIRST, "--config", "c.yaml", "serve", *args]

    def listening(self, *args, token=None):
        """The gateway over HTTP: gives its address."""
        return self.at_an_address(self.gateway, args, token)

    def serving(self, *args, token=None):
        """Our own server over HTTP: gives its address."""
        return self.at_an_address(self.server, args, token)

    def at_an_address(self, front_end, args, token):
        env = {"ASKFIRST_TOKEN": token} if token else {}
        command = front_end("--listen", "127.0.0.1:0", *([] if token else ["--no-token"]), *args)
        return self.running(command, "listening at ", **env)

    @contextlib.contextmanager
    def everything(self):
        """server-everything over HTTP: gives its address."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with self.running([node(), EVERYTHING, "streamableHttp"], "listening on port", PORT=str(port)):
            yield f"http://127.0.0.1:{port}/mcp"

    @contextlib.contextmanager
    def fixture(self):
        """The server that passes the whole suite: gives its address."""
        with self.running([FIXTURE], "http://") as address:
            yield f"http://{address}"


@pytest.fixture
def place():
    # pytest's own folders have names too long for a socket
    with tempfile.TemporaryDirectory(prefix="askfirst-") as folder:
        yield Place(Path(folder))
