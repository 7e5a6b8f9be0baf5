"""The controller and its memory: modes, callbacks and remembered decisions."""

import asyncio
import copy
import pickle
import threading
import time

import pytest

import askfirst
from askfirst import ApprovalController, ApprovalDecision, ApprovalMemory, ApprovalRequest

REQUEST = ApprovalRequest("rm", "Remove a", {"path": "a"})


def test_modes_answer_without_asking(asked):
    callback = asked()
    assert ApprovalController("approve_all", callback).request_approval_sync(REQUEST).approved
    strict = ApprovalController(mode="strict", approval_callback=callback).request_approval_sync(REQUEST)
    assert (strict.approved, strict.cause) == (False, "mode")
    assert callback.times == 0


def test_human_asks_under_approve_all(asked):
    callback = asked()
    controller = ApprovalController("approve_all", callback)
    assert controller.request_approval_sync(REQUEST.replace(approval="human")).approved
    assert callback.times == 1


def test_session_scope_asks_once(asked, yes):
    callback = asked(yes(scope="session"))
    controller = ApprovalController(approval_callback=callback)
    assert not controller.is_session_approved(REQUEST)
    assert controller.request_approval_sync(REQUEST).cause == "person"
    again = controller.request_approval_sync(REQUEST)
    assert (again.approved, again.cause) == (True, "memory")
    assert controller.is_session_approved(REQUEST)
    assert callback.times == 1
    controller.request_approval_sync(REQUEST.replace(payload={"path": "b"}))
    assert callback.times == 2
    controller.clear_session_approvals()
    assert not controller.is_session_approved(REQUEST)
    controller.request_approval_sync(REQUEST)
    assert callback.times == 3


def test_no_for_session_is_remembered(asked, no):
    callback = asked(no(remember="session", note="never"))
    controller = ApprovalController(approval_callback=callback)
    for _ in range(2):
        decision = controller.request_approval_sync(REQUEST)
        assert (decision.approved, decision.note) == (False, "never")
    assert callback.times == 1
    assert not controller.is_session_approved(REQUEST)


@pytest.mark.parametrize("made", [ApprovalController, ApprovalMemory, askfirst.Session], ids=lambda made: made.__name__)
def test_pickling_fails_and_says_what_to_do(made):
    for copied in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot pickle.*hint: create a new one in each process"):
            copied(made())


def test_copy_of_a_controller_is_the_controller():
    controller = ApprovalController()
    assert copy.copy(controller) is controller and copy.copy(controller.memory) is controller.memory


def test_session_approval_can_be_added(asked):
    callback = asked()
    controller = ApprovalController(approval_callback=callback)
    controller.add_session_approval(REQUEST)
    assert controller.is_session_approved(REQUEST)
    assert controller.request_approval_sync(REQUEST).cause == "memory"
    assert callback.times == 0


def test_empty_memory_passed_in_is_kept_and_shared(asked, yes):
    memory = ApprovalMemory()
    assert len(memory) == 0
    assert memory
    first, second = (ApprovalController(approval_callback=asked(yes(remember="session")), memory=memory) for _ in "12")
    assert first.memory is memory
    first.request_approval_sync(REQUEST)
    assert len(memory) == 1
    assert second.is_session_approved(REQUEST)
    assert second.request_approval_sync(REQUEST).cause == "memory"
    second.clear_session_approvals()
    assert not first.is_session_approved(REQUEST)


def test_memory_can_be_used_directly():
    memory = ApprovalMemory()
    memory.store("t", {"a": 1}, ApprovalDecision(approved=True))
    assert memory.lookup("t", {"a": 1}) is None
    memory.store("t", {"a": 1}, ApprovalDecision(approved=True, remember="session"))
    found = memory.lookup("t", {"a": 1})
    assert (found.approved, found.cause) == (True, "memory")
    assert memory.lookup("t", {"a": 1.0}) is None
    assert memory.lookup("t", {"a": True}) is None
    assert memory.lookup("u", {"a": 1}) is None
    number = memory.list()[0]["id"]
    assert memory.revoke(number)
    assert not memory.revoke(number)
    assert len(memory) == 0


def test_stored_decision_counts_in_session(asked):
    callback = asked()
    controller = ApprovalController(approval_callback=callback)
    controller.memory.store("t", {"a": 1}, ApprovalDecision(approved=True, remember="session"))
    session = askfirst.Session(controller=controller)
    assert session.run("t", {"a": 1}, lambda a: a) == 1
    assert callback.times == 0
    session.run("t", {"a": 2}, lambda a: a)
    assert callback.times == 1


def test_memory_expires():
    memory = ApprovalMemory(expire=0)
    memory.store("t", {}, ApprovalDecision(approved=True, remember="session"))
    assert memory.lookup("t", {}) is None
    with pytest.raises(ValueError, match="expire"):
        ApprovalMemory(expire=-1)


def test_callback_of_controller_answers_like_it(asked, yes):
    callback = asked(yes(remember="session"))
    controller = ApprovalController(approval_callback=callback)
    ask = controller.approval_callback
    assert ask(REQUEST).approved
    assert ask(REQUEST).cause == "memory"
    assert ApprovalController(mode="strict").approval_callback(REQUEST).cause == "mode"
    outer = ApprovalController(approval_callback=ApprovalController(mode="strict").approval_callback)
    assert outer.request_approval_sync(REQUEST).cause == "mode"


def test_async_callback_runs_on_calling_loop():
    seen = []

    async def callback(request):
        seen.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return ApprovalDecision(approved=True, note=request.description)

    controller = ApprovalController(approval_callback=callback)

    async def main():
        decision = await controller.request_approval(REQUEST)
        assert seen == [asyncio.get_running_loop()]
        return decision

    assert asyncio.run(main()).note == "Remove a"
    # Without a free loop, the callback runs on another one.
    assert controller.request_approval_sync(REQUEST).approved

    async def blocked():
        return controller.request_approval_sync(REQUEST)

    assert asyncio.run(blocked()).approved
    assert len(set(seen)) == 2


def test_each_loop_runs_its_own_callback():
    async def callback(request):
        await asyncio.sleep(0.01)
        return ApprovalDecision(approved=True, note=str(id(asyncio.get_running_loop())))

    controller = ApprovalController(approval_callback=callback)
    wrong = []

    async def one(n):
        decision = await controller.request_approval(REQUEST.replace(payload={"n": n}))
        if decision.note != str(id(asyncio.get_running_loop())):
            wrong.append(decision)

    async def main(base):
        await asyncio.gather(*(one(base + n) for n in range(5)))

    threads = [threading.Thread(target=asyncio.run, args=(main(base),)) for base in (0, 100)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert wrong == []


def test_callback_runs_in_contextvars_of_call():
    import contextvars

    who = contextvars.ContextVar("who", default="nobody")
    seen = []

    def callback(request):
        seen.append(who.get())
        return ApprovalDecision(approved=True)

    async def acallback(request):
        return callback(request)

    async def main(controller, name):
        who.set(name)
        await controller.request_approval(REQUEST)
        await askfirst.Session(controller=controller).run_async("t", {}, lambda: None)

    for function in (callback, acallback):
        controller = ApprovalController(approval_callback=function)
        asyncio.run(main(controller, function.__name__))
    assert seen == ["callback", "callback", "acallback", "acallback"]


def test_sync_callback_may_return_awaitable():
    async def later(request):
        await asyncio.sleep(0)
        return ApprovalDecision(approved=True)

    controller = ApprovalController(approval_callback=lambda request: later(request))
    assert controller.request_approval_sync(REQUEST).approved
    assert asyncio.run(controller.request_approval(REQUEST)).approved


def test_callable_object_may_be_async():
    class Callback:
        async def __call__(self, request):
            return ApprovalDecision(approved=True)

    assert asyncio.run(ApprovalController(approval_callback=Callback()).request_approval(REQUEST)).approved


def test_async_question_does_not_block_loop():
    """The callback can answer only if the loop runs meanwhile."""
    answer = threading.Event()

    def callback(request):
        answer.wait(20)
        return ApprovalDecision(approved=True)

    controller = ApprovalController(approval_callback=callback)

    async def main():
        waiting = asyncio.ensure_future(controller.request_approval(REQUEST))
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert not waiting.done()
        answer.set()
        return await waiting

    assert asyncio.run(main()).approved


def test_sync_question_releases_the_gil():
    """The callback can answer only if another thread runs Python meanwhile."""
    steps = []

    def callback(request):
        while not steps:
            time.sleep(0.001)
        return ApprovalDecision(approved=True)

    controller = ApprovalController(approval_callback=callback)
    waiting = threading.Thread(target=lambda: steps.append(1))
    timer = threading.Timer(0.05, waiting.start)
    timer.start()
    assert controller.request_approval_sync(REQUEST).approved
    assert steps == [1]


def test_callback_with_takes_many_gets_group():
    groups = []

    def callback(requests):
        groups.append([request.tool_name for request in requests])
        return [ApprovalDecision(approved=request.tool_name != "b") for request in requests]

    callback.takes_many = True
    session = askfirst.Session(controller=ApprovalController(approval_callback=callback))

    async def main():
        return await session.run_many_async([(name, {}, lambda name=name: name) for name in "abc"])

    a, b, c = asyncio.run(main())
    assert groups == [["a", "b", "c"]]
    assert (a, c) == ("a", "c")
    assert b.cause == "person"


def test_equal_waiting_calls_share_question(asked):
    callback = asked()
    session = askfirst.Session(controller=ApprovalController(approval_callback=callback))

    async def main():
        return await session.run_many_async([("t", {"a": 1}, lambda a: a)] * 3)

    assert asyncio.run(main()) == [1, 1, 1]
    assert callback.times == 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"mode": "maybe"}, ValueError),
        ({"mode": 3}, TypeError),
        ({"approval_callback": 3}, TypeError),
        ({"memory": {}}, TypeError),
        ({"timeout": -1}, ValueError),
        ({"timeout": float("nan")}, ValueError),
        ({"timeout": "soon"}, TypeError),
    ],
)
def test_wrong_arguments_raise(arguments, error):
    with pytest.raises(error):
        ApprovalController(**arguments)


def test_stopped_controller_refuses(asked):
    controller = ApprovalController(approval_callback=asked())
    controller.stop()
    assert controller.request_approval_sync(REQUEST).cause == "cancelled"
