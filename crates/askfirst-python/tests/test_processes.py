"""Threads, forks and Ctrl-C."""

import os
import signal
import sys
import threading
import time

import pytest

import askfirst
from askfirst import ApprovalController, ApprovalDecision, Session


def test_many_threads_share_a_session(asked, yes, tmp_path):
    callback = asked(lambda request: yes(remember="session"))
    config = {"tools": {"free": {"approval": "none"}}}
    session = Session(config, controller=ApprovalController(approval_callback=callback), ledger=tmp_path / "l.jsonl")
    wrong = []

    def work(base):
        for n in range(25):
            for name in ("free", "asked"):
                got = session.run(name, {"n": n % 5}, lambda n: n)
                if got != n % 5:
                    wrong.append(got)

    threads = [threading.Thread(target=work, args=(base,)) for base in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert wrong == []
    assert 5 <= callback.times <= 40
    assert len(session.controller.memory) == 5


def test_several_threads_wait_for_one_ticket(yes):
    go = threading.Event()
    session = Session(controller=ApprovalController(approval_callback=lambda request: (go.wait(20), yes())[1]))
    ticket = session.start("t", {})
    states = []
    threads = [threading.Thread(target=lambda: states.append(ticket.wait())) for _ in range(4)]
    [thread.start() for thread in threads]
    time.sleep(0.05)
    go.set()
    [thread.join(20) for thread in threads]
    assert states == ["run"] * 4


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_child_refuses_and_parent_continues(asked):
    callback = asked()
    controller = ApprovalController(approval_callback=callback)
    session = Session(controller=controller)
    assert session.run("t", {"n": 0}, lambda n: n) == 0
    ticket = Session({"default_approval": "none"}).start("t", {})
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        said = []
        tries = [
            lambda: session.run("t", {"n": 1}, lambda n: n),
            lambda: controller.request_approval_sync(askfirst.ApprovalRequest("t", "d", {})),
            lambda: controller.memory.lookup("t", {}),
            lambda: ticket.finish(1),
        ]
        for attempt in tries:
            try:
                said.append(repr(attempt()))
            except RuntimeError as error:
                said.append("refused" if "fork" in str(error) else str(error))
        fresh = Session(controller=ApprovalController(approval_callback=lambda request: ApprovalDecision(approved=True)))
        said.append(str(fresh.run("t", {}, lambda: "fresh")))
        os.write(write, " ".join(said).encode())
        os._exit(0)
    os.close(write)
    got = b"".join(iter(lambda: os.read(read, 4096), b""))
    os.close(read)
    assert os.waitpid(child, 0)[1] == 0
    assert got.decode() == "refused refused refused refused fresh"
    assert session.run("t", {"n": 2}, lambda n: n) == 2
    assert ticket.finish(1) == "done"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_child_drops_session_without_lock(asked):
    """A thread of the parent may hold a lock, so the child must not lock anything when it drops the session."""
    for _ in range(10):
        session = Session(controller=ApprovalController(approval_callback=asked()))
        session.run("t", {}, lambda: None)
        child = os.fork()
        if child == 0:
            del session
            os._exit(0)
        deadline = time.monotonic() + 30
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            assert time.monotonic() < deadline, "the child hangs"
            time.sleep(0.01)


# A background process ignores SIGINT from the start, so Python needs a handler.
CTRL_C = """
import os, signal, threading, time
import askfirst
signal.signal(signal.SIGINT, signal.default_int_handler)
over = threading.Event()
def callback(request):
    os.kill(os.getpid(), signal.SIGINT)
    over.wait(60)
session = askfirst.Session(controller=askfirst.ApprovalController(approval_callback=callback))
ran = []
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", ran)
over.set()
fine = askfirst.Session(controller=askfirst.ApprovalController(approval_callback=lambda r: askfirst.ApprovalDecision(approved=True)))
print(fine.run("t", {{}}, lambda: "goes on"))
"""


@pytest.mark.parametrize(
    "call",
    [
        'session.run("t", {}, lambda: ran.append(1))',
        'session.controller.request_approval_sync(askfirst.ApprovalRequest("t", "d", {}))',
        'import asyncio; asyncio.run(session.run_async("t", {}, lambda: ran.append(1)))',
    ],
    ids=["run", "request", "async"],
)
def test_ctrl_c_ends_wait_and_withdraws_question(python, call):
    assert python(CTRL_C.format(call=call)) == "interrupted []\ngoes on"


def test_interpreter_ends_during_question(python):
    """Waiting threads of askfirst neither block nor break the end of the interpreter."""
    text = """
import threading, askfirst
session = askfirst.Session(controller=askfirst.ApprovalController(approval_callback=lambda request: threading.Event().wait()))
tickets = [session.start("t", {"n": n}) for n in range(3)]
print(tickets[0].state)
"""
    assert python(text) == "wait"
    text = """
import threading, askfirst
def late(request):
    import time; time.sleep(0.2)
    return askfirst.ApprovalDecision(approved=True)
session = askfirst.Session(controller=askfirst.ApprovalController(approval_callback=late))
threading.Thread(target=lambda: session.run("t", {}, lambda: None), daemon=True).start()
print("over")
"""
    assert python(text) == "over"


def test_interpreter_ends_during_answers(python, tmp_path):
    """Callbacks, daemon threads and threads of askfirst run when the program ends."""
    text = f"""
import threading, askfirst
controller = askfirst.ApprovalController(approval_callback=lambda request: askfirst.ApprovalDecision(approved=True))
session = askfirst.Session(controller=controller, ledger={str(tmp_path / "l.jsonl")!r})
work = lambda: [session.run("t", {{"n": n}}, lambda n: 1) for n in range(200)]
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
session.start("t", {{"last": 1}}).on_change(lambda: None)
print("over")
"""
    for _ in range(5):
        assert python(text) == "over"


def test_signal_handlers_run_during_question(yes):
    """The callback can answer only if the waiting main thread runs a Python signal handler."""
    go = threading.Event()
    old = signal.signal(signal.SIGUSR1, lambda *given: go.set())
    try:
        def callback(request):
            os.kill(os.getpid(), signal.SIGUSR1)
            go.wait(20)
            return yes()

        session = Session(controller=ApprovalController(approval_callback=callback))
        assert session.run("t", {}, lambda: "ran") == "ran"
        assert go.is_set()
    finally:
        signal.signal(signal.SIGUSR1, old)


def test_many_sessions_leave_no_threads(asked):
    def threads():
        return len(os.listdir("/proc/self/task")) if sys.platform == "linux" else threading.active_count()

    for _ in range(3):
        Session(controller=ApprovalController(approval_callback=asked())).run("t", {}, lambda: None)
    before = threads()
    for _ in range(30):
        Session(controller=ApprovalController(approval_callback=asked())).run("t", {}, lambda: None)
    deadline = time.monotonic() + 20
    while threads() > before + 5 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert threads() <= before + 5
