"""Failing callbacks: they never approve, and the refusal has a cause."""

import asyncio
import threading
import time

import pytest

import askfirst
from askfirst import ApprovalController, ApprovalDecision


def raises(request):
    raise RuntimeError("on purpose")


async def raises_async(request):
    raise RuntimeError("on purpose")


async def cancels(request):
    raise asyncio.CancelledError


async def exits(request):
    raise SystemExit(1)


def exits_sync(request):
    raise SystemExit(1)


class Truthy:
    approved = True


class Lying(ApprovalDecision):
    def __init__(self):
        super().__init__(approved=False)

    approved = "yes"  # type: ignore[assignment]


NONSENSE = {
    "true": True,
    "one": 1,
    "text": "yes",
    "none": None,
    "list": [ApprovalDecision(approved=True)],
    "empty dict": {},
    "dict with a one": {"approved": 1},
    "dict with a text": {"approved": "yes"},
    "dict with more": {"approved": True, "because": "I say so"},
    "dict without": {"remember": "session"},
    "class": ApprovalDecision,
    "object": Truthy(),
    "bad edit": {"approved": True, "edited_args": [1]},
    "edit that is no JSON": ApprovalDecision(approved=True, edited_args={"x": object()}),
    "edit with nan": ApprovalDecision(approved=True, edited_args={"x": float("nan")}),
    "pattern that was not offered": ApprovalDecision(approved=True, remember="pattern", pattern=0),
    "yes and stop": ApprovalDecision(approved=True, stop=True),
    "negative pattern": {"approved": True, "remember": "pattern", "pattern": -1},
}
BROKEN = {"raises": raises, "raises async": raises_async, "cancels": cancels, "exits": exits_sync}
BROKEN.update({name: (lambda value: lambda request: value)(value) for name, value in NONSENSE.items()})


@pytest.mark.parametrize("callback", BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.parametrize("how", ["sync", "async"])
def test_failing_callback_approves_nothing(callback, how):
    ran = []
    session = askfirst.Session(controller=ApprovalController(approval_callback=callback, timeout=20))
    if how == "sync":
        denied = session.run("t", {"a": 1}, lambda a: ran.append(a))
    else:
        denied = asyncio.run(session.run_async("t", {"a": 1}, lambda a: ran.append(a)))
    assert isinstance(denied, askfirst.Denied)
    assert denied.cause == "approver_failed"
    assert denied.note
    assert ran == []
    assert len(session.controller.memory) == 0


def test_error_of_callback_is_reported():
    session = askfirst.Session(controller=ApprovalController(approval_callback=raises))
    assert "RuntimeError: on purpose" in session.run("t", {}, print)
    session = askfirst.Session(controller=ApprovalController(approval_callback=lambda request: True))
    assert "must return an ApprovalDecision, not bool" in session.run("t", {}, print)


def test_raising_callback_is_logged_with_traceback(caplog):
    async def later(request):
        raise RuntimeError("on purpose")

    for callback in (raises, later):
        caplog.clear()
        session = askfirst.Session(controller=ApprovalController(approval_callback=callback))
        assert session.run("t", {}, print).cause == "approver_failed"
        wait_for(lambda: caplog.records)
        (record,) = caplog.records
        assert (record.name, record.levelname, record.message) == ("askfirst", "ERROR", "the approval callback failed")
        assert "on purpose" in caplog.text and f"in {callback.__name__}" in caplog.text


def test_raising_check_and_override_are_logged_with_traceback(caplog):
    def check(name, args, metadata):
        raise KeyError("in the check")

    def override(name, args, metadata, entry):
        raise KeyError("in the override")

    controller = ApprovalController(mode="approve_all")
    for more, text in (({"assess": check}, "in check"), ({"override": override}, "in override")):
        caplog.clear()
        assert askfirst.Session(controller=controller, **more).run("t", {}, print).cause == "policy"
        assert len(caplog.records) == 1 and text in caplog.text and "KeyError" in caplog.text
    caplog.clear()

    def blocks(name, args, metadata):
        raise PermissionError("never")

    askfirst.Session(controller=controller, assess=blocks).run("t", {}, print)
    assert caplog.records == [], "a block is not a failure"


def wait_for(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_callback_that_never_returns_times_out():
    never = threading.Event()

    async def never_async(request):
        try:
            await asyncio.sleep(3600)
        finally:
            never.set()

    for callback in (lambda request: never.wait(30), never_async):
        session = askfirst.Session(controller=ApprovalController(approval_callback=callback, timeout=0.2))
        assert session.run("t", {}, print).cause == "time_out"
        assert asyncio.run(session.run_async("t", {}, print)).cause == "time_out"
    # The task of the callback was canceled.
    assert never.wait(20)


def test_late_decision_changes_nothing():
    late, answered = threading.Event(), threading.Event()

    def callback(request):
        late.wait(20)
        answered.set()
        return ApprovalDecision(approved=True, remember="session")

    controller = ApprovalController(approval_callback=callback, timeout=0.1)
    session = askfirst.Session(controller=controller)
    assert session.run("t", {}, print).cause == "time_out"
    late.set()
    assert answered.wait(20)
    assert len(controller.memory) == 0


def test_canceled_caller_withdraws_question():
    over = threading.Event()

    async def callback(request):
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            over.set()
            raise

    ran = []
    session = askfirst.Session(controller=ApprovalController(approval_callback=callback))

    async def main():
        task = asyncio.ensure_future(session.run_async("t", {}, lambda: ran.append(1)))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.05)

    asyncio.run(main())
    assert over.wait(20)
    assert ran == []


def test_dropped_ticket_withdraws_question():
    started, over = threading.Event(), threading.Event()

    async def callback(request):
        started.set()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            over.set()
            raise

    session = askfirst.Session(controller=ApprovalController(approval_callback=callback))
    ticket = session.start("t", {})
    assert started.wait(20)
    assert ticket.state == "wait"
    del ticket
    assert over.wait(20)


def test_canceled_ticket_is_done_and_runs_nothing():
    session = askfirst.Session(controller=ApprovalController(approval_callback=lambda request: threading.Event().wait(30)))
    ticket = session.start("t", {})
    ticket.cancel()
    assert ticket.state == "done"
    assert ticket.outcome.cause == "cancelled"
    with pytest.raises(RuntimeError, match="run"):
        ticket.finish(1)
    ticket.cancel()


def test_edits_ask_again_until_unchanged(yes):
    asked = []

    def callback(request):
        asked.append(request.args)
        return yes(edited_args={"n": min(request.args["n"] + 1, 3)})

    session = askfirst.Session(controller=ApprovalController(approval_callback=callback))
    assert session.run("t", {"n": 1}, lambda n: n) == 3
    assert asked == [{"n": 1}, {"n": 2}, {"n": 3}]


def test_edited_call_is_judged_again(yes):
    config = {"tools": {"t": [{"approval": "deny", "when": {"path": "/etc/passwd"}}, {"approval": "required"}]}}
    callback = lambda request: yes(edited_args={"path": "/etc/passwd"})  # noqa: E731
    session = askfirst.Session(config, controller=ApprovalController(approval_callback=callback))
    ran = []
    assert session.run("t", {"path": "a"}, lambda path: ran.append(path)).cause == "policy"
    assert ran == []


def test_only_first_answer_counts():
    """A callback that answers more than once cannot change its first answer."""
    from askfirst import _ask

    answers = []

    class Keeping(_ask.Asker):
        def ask(self, number, requests, answer, origin):
            answers.append(answer)
            answer.send([{"approved": False}])
            answer.send([{"approved": True}])
            answer.fail("later")

    controller = ApprovalController(approval_callback=print)
    asker = Keeping(print)
    controller._native = askfirst._askfirst.Controller("interactive", controller.memory._native, 5.0, asker.ask, asker.withdraw)
    session = askfirst.Session(controller=controller)
    assert session.run("t", {}, print).cause == "person"
    with pytest.raises((TypeError, ValueError)):
        answers[0].send([{"approved": "yes"}])
