"""Tools that assess their own calls, in all forms of ``check_approval``."""

import asyncio

import pytest

import askfirst
from askfirst import ApprovalContext, ApprovalController, ApprovalRequest, Session, execute_tool, requires_approval


class ByContext:
    def check_approval(self, ctx):
        assert isinstance(ctx, ApprovalContext)
        return _answer(ctx.tool_name, ctx.args)

    def __call__(self, **args):
        return args


class ByName:
    def check_approval(self, tool_name, args, memory):
        assert memory.lookup(tool_name, args) is None
        for change in (lambda: memory.store(tool_name, args, None), memory.clear):
            with pytest.raises(PermissionError):
                change()
        return _answer(tool_name, args)

    def __call__(self, **args):
        return args


class ByRun:
    def check_approval(self, run_context, tool_def, args):
        return _answer("t", args)

    def __call__(self, **args):
        return args


def _answer(tool_name, args):
    what = args.get("what")
    if what == "block":
        raise PermissionError("outside of every root")
    if what == "fail":
        raise KeyError("oops")
    if what == "ask":
        return ApprovalRequest(tool_name, "my words", {"fingerprint": 1})
    if what == "dict":
        return {"description": "my words", "payload": {"fingerprint": 1}}
    return {"true": True, "false": False, "nonsense": 3, "text": "yes"}.get(what)


@pytest.mark.parametrize("tool", [ByContext(), ByName(), ByRun()], ids=lambda tool: type(tool).__name__)
def test_every_form_of_check_approval_works(tool, asked):
    callback = asked()
    session = Session(controller=ApprovalController(approval_callback=callback), tools={"t": tool})
    assert session.call("t", {"what": "nothing"}) == {"what": "nothing"}
    assert session.call("t", {"what": "false"}) == {"what": "false"}
    assert callback.times == 0
    for what in ("ask", "dict"):
        assert session.call("t", {"what": what}) == {"what": what}
        assert callback.requests[-1].description == "my words"
        assert callback.requests[-1].payload == {"fingerprint": 1}
    session.call("t", {"what": "true"})
    assert callback.times == 3
    blocked = session.call("t", {"what": "block"})
    assert (blocked.cause, "outside of every root" in blocked) == ("policy", True)
    for what in ("fail", "nonsense", "text"):
        denied = session.call("t", {"what": what})
        assert isinstance(denied, askfirst.Denied), what
        assert denied.cause == "policy"
    assert callback.times == 3


def test_block_holds_in_every_mode(asked):
    for mode in ("interactive", "approve_all", "strict"):
        session = Session({"default_approval": "none"}, controller=ApprovalController(mode, asked()), tools={"t": ByContext()})
        assert session.call("t", {"what": "block"}).cause == "policy"


def test_async_check_is_refused(asked):
    class Tool:
        async def check_approval(self, ctx):
            return None

        def __call__(self):
            return 1

    session = Session(controller=ApprovalController(approval_callback=asked()), tools={"t": Tool()})
    assert "async" in session.call("t")


def test_check_cannot_change_args(asked):
    class Tool:
        def check_approval(self, ctx):
            ctx.args["path"] = "other"

        def __call__(self, path):
            return path

    session = Session(controller=ApprovalController(approval_callback=asked()), tools={"t": Tool()})
    assert session.call("t", {"path": "given"}) == "given"


def test_ctrl_c_in_check_reaches_caller(asked):
    class Tool:
        def check_approval(self, ctx):
            raise KeyboardInterrupt

        def __call__(self):
            raise AssertionError

    session = Session(controller=ApprovalController(approval_callback=asked()), tools={"t": Tool()})
    with pytest.raises(KeyboardInterrupt):
        session.call("t")
    with pytest.raises(KeyboardInterrupt):
        session.submit([("t", {}, None, askfirst._assess.of(Tool(), session.controller.memory))])


def test_check_runs_again_for_edited_args(asked, yes):
    session = Session(
        controller=ApprovalController(approval_callback=lambda request: yes(edited_args={"what": "block"})),
        tools={"t": ByContext()},
    )
    assert "outside of every root" in session.call("t", {"what": "ask"})


def test_requires_approval_returns_same_function():
    def plain(a):
        return a

    async def later(a):
        return a

    assert requires_approval(plain) is plain
    assert requires_approval()(later) is later
    assert plain(1) == 1
    assert asyncio.run(later(1)) == 1
    request = plain.check_approval(ApprovalContext("plain", {"a": 1}))
    assert (request.tool_name, request.description, request.payload) == ("plain", "plain(a=1)", {"a": 1})
    assert plain._requires_approval


def test_requires_approval_uses_its_arguments(asked):
    @requires_approval(
        description=lambda args: f"Send to {args['to']}",
        exclude_keys={"body"},
        risk="irreversible",
        approval="human",
        presentation=lambda args: {"type": "text", "content": args["body"]},
    )
    def send(to, body):
        return "sent"

    callback = asked()
    session = Session({"default_approval": "none"}, controller=ApprovalController("approve_all", callback), tools=[send])
    assert session.call("send", {"to": "ada", "body": "hi"}) == "sent"
    request = callback.requests[0]
    assert (request.description, request.payload, request.risk) == ("Send to ada", {"to": "ada"}, "irreversible")
    assert request.args == {"to": "ada", "body": "hi"}
    assert request.presentation.content == "hi"

    @requires_approval(description="Static", payload=lambda args: {"host": "example.org"})
    def fetch(url):
        return url

    request = fetch.check_approval(ApprovalContext("fetch", {"url": "https://example.org/1"}))
    assert (request.description, request.payload) == ("Static", {"host": "example.org"})


def test_requires_approval_rejects_wrong_arguments():
    for wrong in (lambda: requires_approval(3), lambda: requires_approval()(3), lambda: requires_approval(exclude_keys="body")):
        with pytest.raises(TypeError):
            wrong()


def test_failing_description_blocks(asked):
    @requires_approval(description=lambda args: args["missing"])
    def tool():
        return 1

    session = Session(controller=ApprovalController(approval_callback=asked()), tools=[tool])
    assert "KeyError" in session.call("tool")


def test_marked_function_asks_unless_config_allows(asked):
    @requires_approval
    def tool():
        return 1

    callback = asked()
    session = Session({"default_approval": "none"}, controller=ApprovalController(approval_callback=callback), tools=[tool])
    assert session.call("tool") == 1
    assert callback.times == 1
    config = {"tools": {"tool": {"approval": "none"}}}
    session = Session(config, controller=ApprovalController(approval_callback=callback), tools=[tool])
    assert session.call("tool") == 1
    assert callback.times == 1


def test_execute_tool_asks_and_runs(asked, no):
    @requires_approval
    async def tool(a):
        return a + 1

    def bare(a):
        return a

    yes, refusing = asked(), asked(no(note="not now"))
    run = lambda tool, callback, **more: asyncio.run(  # noqa: E731
        execute_tool(tool, "tool", {"a": 1}, ApprovalController(approval_callback=callback), **more)
    )
    assert run(tool, yes) == 2
    assert run(bare, yes) == 1
    assert yes.times == 1
    with pytest.raises(PermissionError, match="not now"):
        run(tool, refusing)
    with pytest.raises(PermissionError, match="strict"):
        asyncio.run(execute_tool(tool, "tool", {"a": 1}, ApprovalController(mode="strict")))
    run(tool, yes, context_metadata={"caller": "worker"})
    assert yes.requests[-1].caller == "worker"
