"""Sessions: which calls run, and how refusals reach the agent."""

import asyncio
import json
import pathlib

import pytest

import askfirst
from askfirst import ApprovalController, Session


def of(callback, config=None, **more):
    return Session(config, controller=ApprovalController(approval_callback=callback), **more)


def test_verdicts_follow_config(asked):
    config = {"tools": {"free": {"approval": "none"}, "never": {"approval": "deny"}, "ask": {"approval": "required"}}}
    callback = asked()
    session = of(callback, config)
    assert session.run("free", {"a": 1}, lambda a: a + 1) == 2
    assert callback.times == 0
    assert session.run("never", {"a": 1}, lambda a: a).cause == "policy"
    assert session.run("ask", {"a": 1}, lambda a: a) == 1
    assert session.run("unknown", {"a": 1}, lambda a: a) == 1
    assert [request.tool_name for request in callback.requests] == ["ask", "unknown"]
    assert [session.decide(name)["verdict"] for name in ("free", "never", "ask")] == ["allow", "deny", "ask"]


def test_denial_is_data_or_stops_run(asked, no):
    returned = of(asked(no(note="use the test list"))).run("send", {"to": "ada"}, print)
    assert isinstance(returned, str)
    assert (returned.cause, returned.note, returned.tool_name) == ("person", "use the test list", "send")
    assert "use the test list" in returned
    assert json.dumps(returned)
    session = of(asked(no(note="use the test list")), on_denial="stop")
    with pytest.raises(askfirst.ApprovalDenied, match="use the test list") as error:
        session.run("send", {"to": "ada"}, print)
    assert (error.value.cause, error.value.note) == ("person", "use the test list")
    blocked = of(asked(), {"tools": {"t": {"approval": "deny"}}}, on_denial="stop").run("t", {}, print)
    assert (blocked.cause, blocked.ends_run) == ("policy", False), "only a person's no ends the run"
    assert of(asked(), {"on_denial": "stop"}).on_denial == "stop"
    assert of(asked(), {"on_denial": "stop"}, on_denial="return").on_denial == "return"


def test_exceptions_of_tool_are_unchanged(asked):
    session = of(asked(), {"default_approval": "none"})
    error = KeyError("mine")

    def fails():
        raise error

    with pytest.raises(KeyError) as raised:
        session.run("t", {}, fails)
    assert raised.value is error

    async def fails_async():
        raise error

    with pytest.raises(KeyError) as raised:
        asyncio.run(session.run_async("t", {}, fails_async))
    assert raised.value is error


def test_denied_call_does_not_drop_others_of_batch(asked, yes, no):
    session = of(lambda request: no() if request.tool_name == "b" else yes())

    async def tool(n):
        await asyncio.sleep(0)
        return n

    async def main():
        return await session.run_many_async([(name, {"n": at}, tool) for at, name in enumerate("abc")])

    first, second, third = asyncio.run(main())
    assert (first, third, second.cause) == (0, 2, "person")


def test_session_calls_tools_by_name(asked, yes):
    @askfirst.requires_approval
    def send(to):
        return f"sent to {to}"

    def add(a, b):
        return a + b

    callback = asked()
    session = of(callback, {"tools": {"add": {"approval": "none"}}}, tools=[send, add])
    assert session.call("add", {"a": 1, "b": 2}) == 3
    assert session.call("send", {"to": "ada"}) == "sent to ada"
    assert asyncio.run(session.call_async("send", {"to": "ada"})) == "sent to ada"
    assert callback.times == 2
    with pytest.raises(LookupError, match="nothing"):
        session.call("nothing")
    with pytest.raises(ValueError, match="two tools"):
        of(callback, tools=[send, send])


def test_guarded_function_keeps_signature(asked, yes):
    def tool(a, /, b, *more, c=3, **rest):
        """The effect of the tool."""
        return (a, b, more, c, rest)

    callback = asked()
    session = of(callback)
    guarded = session.guard(tool)
    assert guarded.__doc__ == "The effect of the tool."
    assert guarded(1, 2, 5, 6, c=4, d=7) == (1, 2, (5, 6), 4, {"d": 7})
    assert callback.requests[-1].args == {"a": 1, "b": 2, "more": [5, 6], "c": 4, "d": 7}
    with pytest.raises(TypeError):
        guarded()
    assert callback.times == 1
    edited = of(lambda request: yes() if request.args["b"] == 9 else yes(edited_args={**request.args, "b": 9, "d": 8}))
    assert edited.guard(tool)(1, 2, 5, c=4, d=7) == (1, 9, (5,), 4, {"d": 8})


def test_guarded_async_method_runs(asked):
    class Tools:
        async def send(self, to):
            return f"sent to {to}"

    callback = asked()
    session = of(callback)
    guarded = session.guard(Tools().send)
    assert asyncio.iscoroutinefunction(guarded)
    assert asyncio.run(guarded("ada")) == "sent to ada"
    assert callback.requests[0].args == {"to": "ada"}
    assert callback.requests[0].tool_name == "send"
    with pytest.raises(TypeError):
        askfirst.guard(3)


def test_guard_uses_surrounding_session(asked, no):
    def tool(a):
        return a

    guarded = askfirst.guard(tool)
    with askfirst.session({"tools": {"tool": {"approval": "none"}}}, ledger=False) as outer:
        assert askfirst.current_session() is outer
        assert guarded(1) == 1
        with askfirst.session({}, approval_callback=asked(no()), ledger=False):
            assert guarded(1).cause == "person"
        assert guarded(1) == 1
    assert askfirst.current_session() is None


def test_guard_without_session_uses_config_in_force(python, tmp_path):
    (tmp_path / "home" / "askfirst").mkdir(mode=0o700)
    config = tmp_path / "home" / "askfirst" / "askfirst.yaml"
    config.write_text("version: 1\ntools: { free: { approval: none }, never: { approval: deny } }\n")
    config.chmod(0o600)
    text = "import askfirst\ndef free(): return 1\ndef never(): return 2\nprint(askfirst.guard(free)(), askfirst.guard(never)().cause)"
    assert python(text) == "1 policy"
    records = [json.loads(line) for line in (tmp_path / "home" / "askfirst" / "ledger.jsonl").read_text().splitlines()]
    assert [record["kind"] for record in records] == ["session", "decided", "executed", "decided"]
    assert records[0]["door"] == "python"


def test_audit_log_has_requests_decisions_and_results(tmp_path, asked):
    ledger = tmp_path / "ledger.jsonl"
    session = of(asked(), ledger=ledger)
    session.run("t", {"a": 1, "password": "hunter2hunter2"}, lambda **args: "result")
    with pytest.raises(ZeroDivisionError):
        session.run("t", {"a": 2}, lambda a: 1 / 0)
    records = [json.loads(line) for line in ledger.read_text().splitlines()]
    kinds = [record["kind"] for record in records]
    assert kinds == ["session", "requested", "decided", "executed", "requested", "decided", "executed"]
    assert records[3]["ended"] == "done"
    assert (records[6]["ended"], records[6]["error"]) == ("failed", "ZeroDivisionError: division by zero")
    assert "hunter2" not in ledger.read_text()
    assert records[2]["call"]["args"]["a"] == 1


def test_failure_hides_secrets_of_config_without_a_log_too(tmp_path, asked):
    config = {"default_approval": "none", "secrets": {"args": ["pin"]}}
    for ledger in (False, tmp_path / "l.jsonl"):
        ticket = of(asked(), config, ledger=ledger).start("pay", {"pin": "correct horse"})
        ticket.finish(error=ValueError("no account for correct horse"))
        assert "no account" in ticket.outcome.text and "correct horse" not in ticket.outcome.text


def test_call_that_cannot_be_logged_does_not_run(tmp_path, asked):
    with pytest.raises(OSError):
        of(asked(), ledger="/dev/full")
    ledger = tmp_path / "ledger.jsonl"
    session = of(asked(), {"default_approval": "none"}, ledger=ledger)
    ran = []
    session.run("t", {}, lambda: ran.append(1))
    ledger.unlink()
    ledger.mkdir()
    denied = session.run("t", {}, lambda: ran.append(2))
    assert denied.cause == "record_failed"
    assert ran == [1]


def call_in_session(controller, config):
    askfirst.Session(config, controller=controller).run("act", {"a": 1}, lambda a: a)


def call_in_toolset(controller, config):
    from frameworks import scripted
    from pydantic_ai import Agent
    from pydantic_ai.toolsets import FunctionToolset

    toolset = askfirst.ApprovalToolset(FunctionToolset([act]), controller, config=config)
    Agent(scripted([("act", {"a": 1})]), toolsets=[toolset]).run_sync("go")


def call_in_handler(controller, config):
    from frameworks import scripted
    from pydantic_ai import Agent

    agent = Agent(scripted([("act", {"a": 1})]), capabilities=[askfirst.ApprovalHandler(controller, config=config)])
    agent.tool_plain(requires_approval=True)(act)
    agent.run_sync("go")


def call_in_middleware(controller, config):
    from frameworks import chat
    from langchain.agents import create_agent

    middleware = askfirst.ApprovalMiddleware(controller, config=config)
    create_agent(chat([("act", {"a": 1})]), [act], middleware=[middleware]).invoke({"messages": [("user", "go")]})


def call_in_wrapper(controller, config):
    from langchain_core.tools import tool

    askfirst.ApprovalToolWrapper(tool(act), controller, config=config).invoke({"a": 1})


def act(a: int) -> str:
    """Acts."""
    return f"did {a}"


@pytest.mark.parametrize("more", [{}, {"default_approval": "none"}], ids=["alone", "with other keys"])
@pytest.mark.parametrize(
    "call", [call_in_session, call_in_toolset, call_in_handler, call_in_middleware, call_in_wrapper]
)
def test_ledger_section_of_config_is_recorded(call, more, tmp_path, asked):
    callback = asked()
    config = {"ledger": {"path": str(tmp_path / "l.jsonl"), "sync": "always"}, **more}
    call(askfirst.ApprovalController(approval_callback=callback), config)
    kinds = [json.loads(line)["kind"] for line in (tmp_path / "l.jsonl").read_text().splitlines()]
    requested = ["requested"] * callback.times
    assert kinds == ["session", *requested, "decided", "executed"]


def test_tool_named_ledger_may_have_an_entry():
    from askfirst._arguments import one_config

    entry = {"approval": "none"}
    assert one_config({"ledger": entry}, None, None, "required")[0]["tools"] == {"ledger": entry}
    assert one_config(None, {"ledger": {}}, None, "required")[0]["tools"] == {"ledger": {}}


def test_keys_of_ledger_section_are_those_of_the_schema():
    from askfirst._arguments import _LEDGER_KEYS

    schema = json.loads((pathlib.Path(__file__).parents[3] / "docs" / "askfirst.schema.json").read_text())
    assert set(schema["properties"]["ledger"]["properties"]) == _LEDGER_KEYS


def test_ledger_section_without_keys_is_recorded(tmp_path, asked):
    file = tmp_path / "askfirst.yaml"
    file.write_text("version: 1\nledger: {}\n")
    of(asked(), file).run("t", {"a": 1}, lambda a: a)
    assert (tmp_path / "home" / "askfirst" / "ledger.jsonl").exists()


def test_ledger_false_switches_ledger_section_off(tmp_path, asked):
    config = {"default_approval": "none", "ledger": {"path": tmp_path / "l.jsonl"}}
    of(asked(), config, ledger=False).run("t", {}, lambda: None)
    askfirst.Judge(config).decide("t")
    of(asked(), {"default_approval": "none"}).run("t", {}, lambda: None)
    assert not (tmp_path / "l.jsonl").exists()
    assert not (tmp_path / "home" / "askfirst").exists()


def test_unknown_key_needs_an_override(asked):
    config = {"tools": {"t": {"level": 3}}}
    with pytest.raises(askfirst.ConfigError, match="unknown key `level` in `tools.t`.*\n?hint: .*`options`"):
        of(asked(), config)
    assert of(asked(), config, override=lambda *given: False).run("t", {}, lambda: 1) == 1
    assert of(asked(), {"tools": {"t": {"options": {"level": 3}}}}).run("t", {}, lambda: 1) == 1


def test_misspelled_key_is_an_error_even_with_an_override(asked):
    config = {"tools": {"t": {"aproval": "deny"}}}
    for more in ({}, {"override": lambda *given: False}):
        with pytest.raises(askfirst.ConfigError, match="did you mean `approval`"):
            of(asked(), config, **more)


def test_unknown_tool_name_in_config_warns(asked):
    def send(to):
        return to

    config = {"tools": {"sned": {"approval": "deny"}, "mail_*": {"approval": "deny"}, "send": {}}}
    with pytest.warns(UserWarning, match="`sned`, but no toolset offers it; hint: did you mean `send`") as caught:
        of(asked(), config, tools=[send])
    assert len(caught) == 1


def test_unknown_tool_name_warns_in_every_form_of_config(tmp_path, asked):
    def send(to):
        return to

    file = tmp_path / "askfirst.yaml"
    file.write_text("version: 1\ntools: { sned: { approval: deny }, 'mail_*': { approval: deny }, send: {} }\n")
    entries = {"sned": {"approval": "deny"}, "mail_*": {"approval": "deny"}, "send": {}}
    for config in ({"tools": entries}, {"version": 1, "tools": entries}, file, str(file)):
        for make in (
            lambda: askfirst.session(config, tools=[send], ledger=False),
            lambda: askfirst.session(config, tools=[send], ledger=False, builtin_tools=False),
            lambda: of(asked(), config, tools={"send": send}),
        ):
            with pytest.warns(UserWarning, match="`sned`, but no toolset offers it; hint: did you mean `send`") as caught:
                make()
            assert len(caught) == 1


def test_tool_name_that_config_defines_does_not_warn(tmp_path, asked, recwarn):
    file = tmp_path / "askfirst.yaml"
    file.write_text("version: 1\ntools: { count: { command: [wc, -l], approval: none }, send: { approval: none } }\n")
    of(asked(), file, tools={"send": print})
    askfirst.session(file, tools={"send": print}, ledger=False)
    assert not recwarn.list


def test_config_in_force_does_not_warn_of_tools(tmp_path, asked, recwarn):
    """The user's config names the tools of all programs."""
    folder = tmp_path / "home" / "askfirst"
    folder.mkdir(mode=0o700)
    (folder / "askfirst.yaml").write_text("version: 1\ntools: { deploy: { approval: deny } }\n")
    (folder / "askfirst.yaml").chmod(0o600)
    with askfirst.session(tools={"send": print}, ledger=False) as session:
        assert session.decide("deploy")["verdict"] == "deny"
    assert not recwarn.list


def test_call_with_wrong_arguments_raises_without_a_question(asked):
    def send(to, body=""):
        return f"sent to {to}"

    callback = asked()
    session = of(callback, tools=[send])
    for args in ({}, {"to": "ada", "cc": "bob"}):
        with pytest.raises(TypeError):
            session.call("send", args)
        with pytest.raises(TypeError):
            asyncio.run(session.call_async("send", args))
    assert callback.times == 0
    assert session.call("send", {"to": "ada"}) == "sent to ada"


def test_tool_with_invalid_arguments_fails_without_a_question(tmp_path, asked):
    schema = {"type": "object", "properties": {"to": {"$ref": "#/$defs/name"}, "n": {"type": "integer"}}, "required": ["to"]}
    callback = asked()
    session = of(callback, ledger=tmp_path / "l.jsonl")
    session.define({"name": "send", "input_schema": {**schema, "$defs": {"name": {"type": "string"}}}})
    ran = []
    for args, why in (({}, "`to` is missing"), ({"to": "ada", "n": "3"}, "`n` must be an integer")):
        with pytest.raises(askfirst.ToolFailed, match=why) as failed:
            session.run("send", args, lambda **args: ran.append(args))
        assert failed.value.kind == "bad_args"
    assert (callback.times, ran) == (0, [])
    assert '"approved":false' in (tmp_path / "l.jsonl").read_text()
    # A value that is not JSON does not fit any schema, so it is left to the tool.
    session.run("send", {"to": pathlib.Path("ada")}, lambda **args: ran.append(args))
    assert callback.times == 1 and len(ran) == 1


def test_ticket_has_a_notice_about_edit_and_note(asked, yes):
    def answer(request):
        if request.args["to"] == "ada":
            return yes(edited_args={"to": "eve", "password": "hunter2hunter2"}, note="ada is away")
        return yes()

    session = of(answer, {"secrets": {"args": ["password"]}})
    ticket = session.start("send", {"to": "ada", "password": "hunter2hunter2"})
    assert ticket.wait() == "run"
    assert (ticket.args["to"], ticket.edited, ticket.by_person) == ("eve", True, True)
    edited, note = ticket.notice.splitlines()
    assert edited.startswith("askfirst: a person edited the arguments; the call ran with: ") and '"to":"eve"' in edited
    assert "hunter2" not in edited
    assert note == "askfirst: the person who approved the call wrote: ada is away"
    plain = session.start("send", {"to": "bob"})
    assert plain.wait() == "run"
    assert (plain.notice, plain.edited, plain.by_person) == (None, False, True)
    free = Session({"default_approval": "none"}).start("send", {"to": "bob"})
    assert (free.notice, free.approval, free.by_person) == (None, None, False)


def test_approval_of_a_ticket_answers_the_same_call_once(asked):
    callback = asked()
    session = of(callback)
    first = session.start("t", {"n": 1})
    assert first.wait() == "run"
    approval = first.approval
    again = session.start("t", {"n": 1}, None, None, approval)
    assert again.wait() == "run" and again.approval is not None
    assert callback.times == 1
    for args, used in (({"n": 1}, approval), ({"n": 2}, again.approval)):
        assert session.start("t", args, None, None, used).wait() == "run"
    assert callback.times == 3
    other = asked()
    assert of(other).start("t", {"n": 1}, None, None, first.approval).wait() == "run"
    assert other.times == 1, "another controller asks its own person"


def test_no_under_on_denial_stop_skips_the_rest_of_a_group(asked, no):
    callback = asked(no(note="enough"))
    session = of(callback, on_denial="stop")
    calls = [("t", {"n": n}, {"batch_id": "b"}) for n in range(3)]
    tickets = session.submit(calls)
    assert [ticket.wait() for ticket in tickets] == ["done"] * 3
    assert callback.times == 1
    assert [ticket.outcome.cause for ticket in tickets] == ["person", "cancelled", "cancelled"]
    with pytest.raises(askfirst.ApprovalDenied, match="enough"):
        session.go_on(tickets[0], print)


def test_no_without_a_person_asks_about_the_rest_of_a_group(asked, no):
    callback = asked(no(cause="mode"))
    tickets = of(callback, on_denial="stop").submit([("t", {"n": n}, {"batch_id": "b"}) for n in range(2)])
    assert [ticket.wait() for ticket in tickets] == ["done"] * 2
    assert callback.times == 2 and not any(ticket.outcome.ends_run for ticket in tickets)


def test_group_of_two_sessions_stops_where_one_of_them_does(asked, yes, no):
    callback = asked(no(), yes(), no(), yes())
    controller = askfirst.ApprovalController(approval_callback=callback)
    goes_on, stops = askfirst.Session(controller=controller), askfirst.Session(controller=controller, on_denial="stop")
    calls = [(session, ("t", {"n": n}, {"batch_id": "b"})) for n, session in enumerate((goes_on, stops, stops, goes_on))]
    tickets = askfirst._session.submit_together(calls)
    for ticket in tickets:
        if ticket.wait() == "run":
            ticket.finish()
    assert [ticket.outcome.cause for ticket in tickets if ticket.outcome.kind == "denied"] == ["person"] * 2 + ["cancelled"]
    assert callback.times == 3


def test_stop_on_one_call_of_a_group_skips_the_rest(asked, yes, no):
    callback = asked(yes(), no(stop=True, note="stop it"), yes())
    session = of(callback)
    ran = []
    tickets = session.submit([("t", {"n": n}, {"batch_id": "b"}) for n in range(4)])
    for ticket in tickets:
        if ticket.wait() == "run":
            ran.append(ticket.args["n"])
    assert callback.times == 2
    assert [ticket.outcome.cause for ticket in tickets[1:]] == ["person", "cancelled", "cancelled"]
    assert session.run("t", {}, print).cause == "cancelled", "the run is over"


def test_metadata_reaches_audit_log_and_tool(tmp_path, asked):
    seen = []
    session = of(asked(), ledger=tmp_path / "l.jsonl")
    view = lambda name, args, metadata: seen.append(metadata)  # noqa: E731
    session.run("t", {}, lambda: None, metadata={"run_id": "r1", "caller": "worker"}, assess=view)
    assert seen == [{"run_id": "r1", "caller": "worker"}]
    assert '"run_id":"r1"' in (tmp_path / "l.jsonl").read_text()


def test_running_tool_may_ask(tmp_path, asked, yes, no):
    callback = asked(yes(), lambda request: no(note="not that") if request.description == "delete too" else yes())
    session = of(callback, ledger=tmp_path / "l.jsonl")
    request = askfirst.ApprovalRequest("sub", "delete too", {"x": 1})

    def tool():
        return askfirst.request_approval_sync(request)

    async def tool_async():
        return await askfirst.request_approval({"tool_name": "sub", "description": "other", "payload": {}})

    assert session.run("t", {}, tool).note == "not that"
    assert asyncio.run(session.run_async("t", {}, tool_async)).approved
    assert [request.tool_name for request in callback.requests] == ["t", "sub", "t", "sub"]
    assert callback.requests[1].call_id.startswith(callback.requests[0].call_id + ".")
    with pytest.raises(RuntimeError, match="only a running tool"):
        askfirst.request_approval_sync(request)


def test_override_decides_in_session(asked):
    seen = []

    def override(name, args, metadata, entry):
        seen.append((name, args, entry))
        if args.get("blocked"):
            raise PermissionError("never here")
        return {"description": "mine"} if args.get("custom") else args["ask"]

    config = {"tools": {"t": {"level": 3}, "never": {"approval": "deny"}}}
    callback = asked()
    session = of(callback, config, override=override)
    assert session.run("t", {"ask": False}, lambda ask: "ran") == "ran"
    assert (callback.times, seen[0]) == (0, ("t", {"ask": False}, {"level": 3}))
    session.run("t", {"ask": True}, lambda ask: "ran")
    session.run("t", {"ask": True, "custom": True}, lambda **args: "ran")
    assert [request.description for request in callback.requests] == ["t(ask=true)", "mine"]
    assert "never here" in session.run("t", {"blocked": True}, print)
    assert session.run("never", {"ask": False}, print).cause == "policy"
    assert of(callback, override=lambda *given: "sure").run("t", {}, print).cause == "policy"
    assert of(callback, override=lambda *given: 1 / 0).run("t", {}, print).cause == "policy"


def test_changed_tool_asks_again(asked, yes):
    callback = asked(yes(remember="session"))
    session = of(callback)
    definition = {"name": "t", "description": "reads", "input_schema": {"type": "object"}}
    session.define(definition)
    for _ in range(2):
        session.run("t", {}, lambda: None)
    assert callback.times == 1
    session.define({**definition, "description": "reads and sends"})
    session.run("t", {}, lambda: None)
    assert callback.times == 2


def test_invalid_config_error_lists_all_faults(tmp_path):
    config = tmp_path / "askfirst.yaml"
    config.write_text("version: 1\ntols: {}\ndefault_approval: maybe\n")
    for make in (lambda: Session(config), lambda: askfirst.session(str(config)), lambda: askfirst.Judge(config)):
        with pytest.raises(askfirst.ConfigError, match="tols") as error:
            make()
        assert "maybe" in str(error.value)
        assert isinstance(error.value, ValueError)
    with pytest.raises(askfirst.ConfigError):
        Session({"default_approval": "maybe"})
    with pytest.raises((TypeError, ValueError)):
        Session({"tools": {"t": {"approval": object()}}})
    with pytest.raises(askfirst.ConfigError):
        Session(tmp_path / "missing.yaml")


@pytest.mark.parametrize(
    "arguments",
    [{"controller": 3}, {"on_denial": "maybe"}, {"session_id": 3}, {"ledger": 3}, {"config": 3}],
    ids=str,
)
def test_wrong_arguments_raise(arguments):
    with pytest.raises((TypeError, ValueError)):
        Session(**arguments)


def test_mode_beside_controller_raises():
    with pytest.raises(ValueError, match="controller"):
        askfirst.session({}, mode="strict", controller=ApprovalController(), ledger=False)


def test_ticket_can_be_driven_directly(asked):
    session = of(asked(), {"default_approval": "none"})
    ticket = session.start("t", {"a": 1})
    assert (ticket.state, ticket.args, ticket.outcome, ticket.edited) == ("run", {"a": 1}, None, False)
    assert ticket.poll() == "run"
    assert ticket.finish("anything") == "done"
    assert ticket.state == "done"
    assert ticket.outcome.kind == "done"
    with pytest.raises(RuntimeError):
        ticket.finish("again")
    failed = session.start("t", {})
    assert failed.finish(error=ValueError("no")) == "failed"
    assert failed.outcome.text == "ValueError: no"
    assert "run" in repr(session.start("t", {}))


def test_ticket_reports_change(yes):
    import threading

    go, told = threading.Event(), threading.Event()
    session = of(lambda request: (go.wait(20), yes())[1])
    ticket = session.start("t", {})
    ticket.on_change(told.set)
    assert ticket.wait(0.05) == "wait"
    assert not told.is_set()
    go.set()
    assert told.wait(20)
    assert ticket.poll() == "run"
    again = threading.Event()
    ticket.on_change(again.set)
    assert again.is_set()
