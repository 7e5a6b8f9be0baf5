"""A tool's own assessment, in every form and through every wrapper, and the members that a wrapper forwards."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from frameworks import Person, scripted, tool_returns, yes
from pydantic_ai import Agent, ApprovalRequired, RunContext, Tool
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, FunctionToolset, WrapperToolset
from pydantic_ai.usage import RunUsage

from askfirst import ApprovalController, ApprovalRequest, requires_approval
from askfirst.compat import ApprovalResult
from askfirst.pydantic_ai import ApprovalToolset

ran: list[Any] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


def act(x: int) -> str:
    ran.append(x)
    return f"did {x}"


def outcome(gated: Any, name: str = "act", **args: Any) -> tuple[Any, str]:
    agent = Agent(scripted([(name, args or {"x": 1})]), toolsets=[gated])
    return tool_returns(agent.run_sync("go").all_messages())[0][1:]


class Speaking(FunctionToolset[Any]):
    """A toolset that assesses its tools. ``says`` is its answer."""

    def __init__(self, says: Any, form: str = "context") -> None:
        super().__init__([act])
        self.says = says
        self.seen: list[Any] = []
        if form == "context":
            self.check_approval = self._context
        elif form == "memory":
            self.check_approval = self._memory
        elif form == "run":
            self.check_approval = self._run
        elif form == "needs":
            self.needs_approval = self._needs
        elif form == "needs_async":
            self.needs_approval = self._needs_async

    def _say(self, *seen: Any) -> Any:
        self.seen.append(seen)
        if isinstance(self.says, Exception):
            raise self.says
        return self.says

    def _context(self, ctx: Any) -> Any:
        return self._say(ctx.tool_name, ctx.args)

    def _memory(self, tool_name: str, args: dict[str, Any], memory: Any) -> Any:
        assert memory.lookup(tool_name, args) is None
        with pytest.raises(PermissionError):
            memory.store(tool_name, args, yes(remember="session"))
        return self._say(tool_name, args)

    def _run(self, run_context: Any, tool_def: Any, args: dict[str, Any]) -> Any:
        assert isinstance(run_context, RunContext)
        return self._say(tool_def.name, args)

    def _needs(self, name: str, args: dict[str, Any], ctx: Any, config: Any) -> Any:
        return self._say(name, args)

    async def _needs_async(self, name: str, args: dict[str, Any], ctx: Any, config: Any) -> Any:
        await asyncio.sleep(0)
        return self._say(name, args)


FORMS = ["context", "memory", "run", "needs", "needs_async"]


@pytest.mark.parametrize("form", FORMS)
def test_harmless_call_runs_without_asking(form: str) -> None:
    inner, person = Speaking(None if form in FORMS[:3] else False, form), Person()
    assert outcome(ApprovalToolset(inner, approval_callback=person)) == ("did 1", "success")
    assert person.asked == [] and inner.seen == [("act", {"x": 1})]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["request", "true", "mapping"])
def test_request_of_tool_asks_under_default_none(form: str, kind: str) -> None:
    says = {
        "request": ApprovalRequest(tool_name="act", description="Act on x", payload={"x": 1}),
        "true": True,
        "mapping": {"description": "Act on x"},
    }[kind]
    person = Person(yes())
    gated: Any = ApprovalToolset(Speaking(says, form), approval_callback=person, default_approval="none")
    assert outcome(gated) == ("did 1", "success")
    assert len(person.asked) == 1 and (kind == "true" or person.asked[0].description == "Act on x")


@pytest.mark.parametrize("form", FORMS)
def test_permission_error_blocks_in_every_mode(form: str) -> None:
    gated: Any = ApprovalToolset(
        Speaking(PermissionError("not here"), form),
        ApprovalController(mode="approve_all"),
        tool_configs={"act": {"approval": "none"}},
    )
    text, result = outcome(gated)
    assert result == "denied" and "not here" in text and ran == []


@pytest.mark.parametrize("form", FORMS)
def test_other_exception_denies_with_cause(form: str) -> None:
    text, result = outcome(ApprovalToolset(Speaking(KeyError("root"), form), ApprovalController(mode="approve_all")))
    assert result == "denied" and "root" in text and ran == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("says", ["no", 0, 1, []], ids=repr)
def test_other_answer_denies(form: str, says: Any) -> None:
    assert outcome(ApprovalToolset(Speaking(says, form), ApprovalController(mode="approve_all")))[1] == "denied"
    assert ran == []


def test_request_names_the_tool_that_runs() -> None:
    says = ApprovalRequest(tool_name="harmless", description="nothing", payload={})
    person = Person(yes())
    outcome(ApprovalToolset(Speaking(says), approval_callback=person))
    assert person.asked[0].tool_name == "act" and person.asked[0].args == {"x": 1}


@pytest.mark.parametrize(
    ("says", "result"),
    [
        (ApprovalResult.blocked("no"), "denied"),
        (ApprovalResult.pre_approved(), "success"),
        (ApprovalResult.needs_approval(), "denied"),
    ],
    ids=["blocked", "pre_approved", "needs_approval"],
)
def test_compat_results_are_accepted_as_views(says: Any, result: str) -> None:
    assert outcome(ApprovalToolset(Speaking(says, "needs"), ApprovalController(mode="strict")))[1] == result


def test_config_overrides_view_of_tool() -> None:
    person = Person()
    gated: Any = ApprovalToolset(
        Speaking(True), approval_callback=person, tool_configs={"act": {"approval": "none"}}
    )
    assert outcome(gated) == ("did 1", "success") and person.asked == []


def test_approval_func_gets_pydantic_ai_arguments() -> None:
    def dangerous(ctx: RunContext[Any], tool_def: Any, args: dict[str, Any]) -> bool:
        assert tool_def.name == "act" and ctx.tool_name == "act"
        return bool(args["x"] > 5)

    person = Person(yes())
    gated: Any = ApprovalToolset(FunctionToolset([act]), approval_callback=person, approval_func=dangerous)
    assert outcome(gated, x=1) == ("did 1", "success") and person.asked == []
    assert outcome(gated, x=9) == ("did 9", "success") and len(person.asked) == 1


def test_approval_func_does_not_loosen_toolset_view() -> None:
    gated: Any = ApprovalToolset(
        Speaking(PermissionError("no")), ApprovalController(mode="approve_all"), approval_func=lambda c, d, a: False
    )
    assert outcome(gated)[1] == "denied"


def test_marked_function_asks_under_default_none() -> None:
    @requires_approval
    def send(to: str) -> str:
        return f"sent to {to}"

    person = Person(yes())
    gated: Any = ApprovalToolset(FunctionToolset([send, act]), approval_callback=person, default_approval="none")
    assert outcome(gated, "send", to="ada") == ("sent to ada", "success") and person.names == ["send"]
    assert outcome(gated) == ("did 1", "success") and len(person.asked) == 1


WRAPPERS = {
    "prefixed": (lambda inner: inner.prefixed("p"), "p_act"),
    "renamed": (lambda inner: inner.renamed({"do": "act"}), "do"),
    "filtered": (lambda inner: inner.filtered(lambda ctx, tool: True), "act"),
    "combined": (lambda inner: CombinedToolset([FunctionToolset([outcome], id="other"), inner]), "act"),
    "all": (lambda inner: CombinedToolset([inner.prefixed("a").filtered(lambda c, t: True)]).prefixed("b"), "b_a_act"),
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_view_of_owner_counts_through_every_wrapper(wrapper: str) -> None:
    wrap, name = WRAPPERS[wrapper]
    inner, person = Speaking({"description": "by its owner"}), Person(yes())
    gated: Any = ApprovalToolset(wrap(inner), approval_callback=person)
    assert outcome(gated, name, x=1) == ("did 1", "success")
    assert inner.seen == [("act", {"x": 1})]
    assert person.asked[0].tool_name == name and person.asked[0].description == "by its owner"


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_marked_function_asks_through_every_wrapper(wrapper: str) -> None:
    wrap, name = WRAPPERS[wrapper]

    def marked(x: int) -> str:
        return act(x)

    marked.__name__ = "act"
    inner: Any = FunctionToolset([requires_approval(marked)])
    person = Person(yes())
    gated: Any = ApprovalToolset(wrap(inner), approval_callback=person, default_approval="none")
    assert outcome(gated, name, x=1) == ("did 1", "success") and person.names == [name]


def test_deferred_tools_ask_in_toolset() -> None:
    inner: Any = FunctionToolset([Tool(act, requires_approval=True)])
    person = Person(yes())
    gated: Any = ApprovalToolset(inner, approval_callback=person, default_approval="none")
    assert outcome(gated) == ("did 1", "success") and person.names == ["act"]


def test_approval_required_toolset_asks_in_toolset() -> None:
    inner = FunctionToolset[Any]([act]).approval_required(lambda ctx, tool_def, args: args["x"] > 5)
    person = Person(yes(remember="session"))
    gated: Any = ApprovalToolset(inner, approval_callback=person, default_approval="none")
    assert outcome(gated, x=1) == ("did 1", "success") and person.asked == []
    assert outcome(gated, x=9) == ("did 9", "success") and len(person.asked) == 1
    assert outcome(gated, x=9) == ("did 9", "success") and len(person.asked) == 1


def test_tool_raising_approval_required_asks_in_toolset() -> None:
    def pay(ctx: RunContext[Any], amount: int) -> str:
        if amount > 100 and not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"description": f"Pay {amount}"})
        return f"paid {amount}"

    person = Person(yes())
    gated: Any = ApprovalToolset(FunctionToolset([pay]), approval_callback=person, default_approval="none")
    assert outcome(gated, "pay", amount=5) == ("paid 5", "success") and person.asked == []
    assert outcome(gated, "pay", amount=500) == ("paid 500", "success")
    assert [request.description for request in person.asked] == ["Pay 500"]
    assert outcome(gated, "pay", amount=900)[1] == "denied"


@dataclass
class Spy(AbstractToolset[Any]):
    """Keeps the names of its members that were used."""

    used: list[str]

    @property
    def id(self) -> str | None:
        self.used.append("id")
        return "spy"

    @property
    def label(self) -> str:
        self.used.append("label")
        return "the spy"

    @property
    def tool_name_conflict_hint(self) -> str:
        self.used.append("tool_name_conflict_hint")
        return "hint"

    async def for_run(self, ctx: Any) -> Any:
        self.used.append("for_run")
        return Spy(self.used)

    async def for_run_step(self, ctx: Any) -> Any:
        self.used.append("for_run_step")
        return Spy(self.used)

    async def __aenter__(self) -> Any:
        self.used.append("__aenter__")
        return self

    async def __aexit__(self, *args: Any) -> None:
        self.used.append("__aexit__")

    async def get_instructions(self, ctx: Any) -> str:
        self.used.append("get_instructions")
        return "be kind"

    async def get_tools(self, ctx: Any) -> dict[str, Any]:
        self.used.append("get_tools")
        return {}

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        self.used.append("call_tool")
        return "called"

    def apply(self, visitor: Any) -> None:
        self.used.append("apply")
        visitor(self)

    def visit_and_replace(self, visitor: Any) -> Any:
        self.used.append("visit_and_replace")
        return visitor(self)

    def own(self) -> str:
        return "own"


def test_every_member_of_inner_toolset_is_forwarded() -> None:
    used: list[str] = []
    gated: Any = ApprovalToolset(Spy(used), ApprovalController(mode="approve_all"))
    ctx: Any = RunContext(deps=None, model=TestModel(), usage=RunUsage())

    async def use() -> None:
        assert gated.id == "spy" and "the spy" in gated.label and gated.tool_name_conflict_hint == "hint"
        assert gated.own() == "own"
        async with gated:
            for replaced in (await gated.for_run(ctx), await gated.for_run_step(ctx)):
                assert type(replaced) is ApprovalToolset and replaced is not gated
                assert replaced.controller is gated.controller
            assert "be kind" in str(await gated.get_instructions(ctx))
            assert await gated.get_tools(ctx) == {}
            assert await gated.call_tool("x", {}, ctx, None) == "called"
            gated.apply(lambda toolset: None)
            assert type(gated.visit_and_replace(lambda toolset: Spy(used))) is ApprovalToolset

    asyncio.run(use())
    members = {name for name, value in vars(WrapperToolset).items() if callable(value) or isinstance(value, property)}
    public = {name for name in members if not name.startswith("_")} | {"__aenter__", "__aexit__"}
    assert public <= set(used), public - set(used)
    with pytest.raises(AttributeError):
        gated.nothing_like_this


def test_agent_enters_inner_context() -> None:
    used: list[str] = []
    agent = Agent(scripted(), toolsets=[ApprovalToolset(Spy(used), ApprovalController(mode="strict"))])
    agent.run_sync("go")
    assert "__aenter__" in used and "__aexit__" in used
