"""Sessions without a callback ask at the terminal. The tests use a pty."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

import pytest

PROGRAM = """
import os, sys, askfirst
{before}
session = askfirst.Session()
def tool(**args):
    print("RAN", args)
    return "result"
{call}
print("END")
"""
CALL = 'print("GOT", repr(session.run("send", {"to": "ada"}, tool)))'


class Terminal:
    """A pty in which a program runs."""

    def __init__(self, call=CALL, before=""):
        self.child, self.master = pty.fork()
        if self.child == 0:
            os.environ.update(TERM="xterm", NO_COLOR="1")
            os.execv(sys.executable, [sys.executable, "-c", PROGRAM.format(call=call, before=before)])
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 120, 100, 0, 0))
        self.seen, self.read_to = "", 0

    def wait_for(self, text):
        deadline = time.monotonic() + 60
        while text not in self.seen[self.read_to :]:
            assert time.monotonic() < deadline, f"`{text}` did not appear: {self.seen}"
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.master, 4096).decode(errors="replace")
                except OSError:
                    raise AssertionError(f"`{text}` did not appear: {self.seen}") from None
        self.read_to = self.seen.index(text, self.read_to) + len(text)

    def press(self, keys):
        self.wait_for("ready:")
        os.write(self.master, keys.encode())

    def end(self):
        self.wait_for("END")
        rest = self.seen
        while True:
            try:
                more = os.read(self.master, 4096)
            except OSError:
                break
            if not more:
                break
            rest += more.decode(errors="replace")
        assert os.waitpid(self.child, 0)[1] == 0, rest
        return rest


@pytest.fixture
def terminal():
    made = []

    def start(*given, **named):
        made.append(Terminal(*given, **named))
        return made[-1]

    yield start
    for one in made:
        try:
            os.kill(one.child, signal.SIGKILL)
            os.waitpid(one.child, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(one.master)


def test_yes_runs_tool(terminal):
    prompt = terminal()
    prompt.press("y")
    seen = prompt.end()
    assert "ada" in seen
    assert "RAN {'to': 'ada'}" in seen
    assert "GOT 'result'" in seen


def test_no_runs_nothing(terminal):
    prompt = terminal()
    prompt.press("n")
    seen = prompt.end()
    assert "RAN" not in seen
    assert "was refused (person)" in seen


def test_yes_for_session_asks_once(terminal):
    prompt = terminal(call=CALL + "\n" + CALL)
    prompt.press("s")  # Shows what a yes for the session covers.
    prompt.press("s")
    assert prompt.end().count("RAN {'to': 'ada'}") == 2


def test_enter_and_typed_ahead_keys_approve_nothing(terminal):
    prompt = terminal(before='import time; print("TYPE", flush=True); time.sleep(0.3)')
    prompt.wait_for("TYPE")
    os.write(prompt.master, b"y\ny\n")
    prompt.press("\n")
    # Keys in quick succession decide nothing, so this waits.
    time.sleep(1)
    os.write(prompt.master, b"n")
    assert "RAN" not in prompt.end()


def test_controlling_terminal_is_used_without_stdin(terminal):
    prompt = terminal(before='os.dup2(os.open(os.devnull, os.O_RDONLY), 0)')
    prompt.press("y")
    assert "GOT 'result'" in prompt.end()


def test_event_loop_runs_during_terminal_prompt(terminal):
    call = """
import asyncio
async def main():
    ticks = []
    async def tick():
        while True:
            ticks.append(1)
            await asyncio.sleep(0.01)
    ticking = asyncio.ensure_future(tick())
    got = await session.run_async("send", {"to": "ada"}, tool)
    ticking.cancel()
    print("GOT", repr(got), len(ticks) > 5)
asyncio.run(main())
"""
    prompt = terminal(call=call)
    prompt.wait_for("ready:")
    time.sleep(0.5)
    os.write(prompt.master, b"y")
    assert "GOT 'result' True" in prompt.end()


def test_without_terminal_call_is_refused(python):
    text = 'import askfirst\nprint(askfirst.Session().run("send", {}, print).cause)'
    assert python(text, start_new_session=True, stdin=-3) == "nobody_to_ask"
    text = text.replace(".cause", "")
    told = python(text, start_new_session=True, stdin=-3)
    assert "there is no terminal" in told and "approve" not in told.replace("approval", "")


def test_terminal_is_restored_on_ctrl_c(terminal):
    call = """
import signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    session.run("send", {"to": "ada"}, tool)
except KeyboardInterrupt:
    import time; time.sleep(0.3)
    import termios
    print("INTERRUPTED", bool(termios.tcgetattr(0)[3] & termios.ECHO))
"""
    prompt = terminal(call=call)
    prompt.wait_for("ready:")
    seen = prompt.end()
    assert "INTERRUPTED True" in seen
    assert "RAN" not in seen
