"""The compatibility modules: the API that they keep, and the flaws of the original that they fix."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from frameworks import scripted
from pydantic_ai import Agent
from pydantic_ai.toolsets import FunctionToolset, WrapperToolset

from askfirst import compat, compat_080

ran: list[Any] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


def act(x: str) -> str:
    ran.append(x)
    return f"did {x}"


class Asked(list[Any]):
    """A callback that keeps its requests and says yes."""

    def __init__(self, module: Any, **decision: Any) -> None:
        super().__init__()
        self.module, self.decision = module, {"approved": True, **decision}

    def __call__(self, request: Any) -> Any:
        assert isinstance(request, self.module.ApprovalRequest)
        self.append(request)
        return self.module.ApprovalDecision(**self.decision)


modules = pytest.mark.parametrize("module", [compat, compat_080], ids=["0.9.0", "0.8.0"])


def run(gated: Any, *steps: Any) -> str:
    return str(Agent(scripted(*steps), toolsets=[gated]).run_sync("go").output)


@modules
def test_denial_raises_permission_error(module: Any) -> None:
    gated = module.ApprovalToolset(FunctionToolset([act]), Asked(module, approved=False, note="no"))
    with pytest.raises(PermissionError, match="no"):
        run(gated, [("act", {"x": "a"})])
    assert ran == []


@modules
def test_equal_parallel_calls_ask_once(module: Any) -> None:
    asked = Asked(module)
    gated = module.ApprovalToolset(FunctionToolset([act]), asked)
    assert run(gated, [("act", {"x": "a"}), ("act", {"x": "a"})]) == "done"
    assert len(asked) == 1 and ran == ["a", "a"]


@modules
def test_inner_context_is_entered(module: Any) -> None:
    used: list[str] = []

    class Opened(WrapperToolset[Any]):
        async def __aenter__(self) -> Any:
            used.append("in")
            return self

        async def __aexit__(self, *args: Any) -> None:
            used.append("out")

    gated = module.ApprovalToolset(Opened(FunctionToolset([act])), Asked(module))
    assert run(gated, [("act", {"x": "a"})]) == "done"
    assert used[0] == "in" and used[-1] == "out"


@modules
def test_inner_toolset_of_each_run_is_used(module: Any) -> None:
    class Fresh(WrapperToolset[Any]):
        async def for_run(self, ctx: Any) -> Any:
            ran.append("fresh")
            return FunctionToolset([act])

    gated = module.ApprovalToolset(Fresh(FunctionToolset([act])), Asked(module))
    assert run(gated, [("act", {"x": "a"})]) == "done" and ran == ["fresh", "a"]


@modules
def test_blocking_callback_does_not_block_event_loop(module: Any) -> None:
    go_on = threading.Event()

    def ask(request: Any) -> Any:
        assert go_on.wait(30)
        return module.ApprovalDecision(approved=True)

    async def main() -> None:
        gated = module.ApprovalToolset(FunctionToolset([act]), ask)
        task = asyncio.create_task(Agent(scripted([("act", {"x": "a"})]), toolsets=[gated]).run("go"))
        await asyncio.sleep(0.01)
        go_on.set()
        await task

    asyncio.run(main())
    assert ran == ["a"]


@modules
def test_callback_may_be_async_or_return_awaitable(module: Any) -> None:
    async def ask(request: Any) -> Any:
        await asyncio.sleep(0)
        return module.ApprovalDecision(approved=True)

    for callback in (ask, lambda request: ask(request)):
        assert run(module.ApprovalToolset(FunctionToolset([act]), callback), [("act", {"x": "a"})]) == "done"
    assert ran == ["a", "a"]


@modules
def test_exception_of_callback_is_unchanged(module: Any) -> None:
    def broken(request: Any) -> Any:
        raise ConnectionError("the service is down")

    with pytest.raises(ConnectionError, match="the service is down"):
        run(module.ApprovalToolset(FunctionToolset([act]), broken), [("act", {"x": "a"})])
    assert ran == []


@modules
def test_callback_gets_converted_arguments(module: Any) -> None:
    def move(to: Path) -> str:
        return str(to)

    asked = Asked(module)
    run(module.ApprovalToolset(FunctionToolset([move]), asked), [("move", {"to": "x"})])
    assert asked[0].tool_args == {"to": Path("x")}


@modules
def test_config_changed_later_is_read(module: Any) -> None:
    asked = Asked(module)
    gated = module.ApprovalToolset(FunctionToolset([act]), asked, config={"act": {"pre_approved": True}})
    run(gated, [("act", {"x": "a"})])
    gated.config["act"] = {}
    run(gated, [("act", {"x": "a"})])
    assert len(asked) == 1


def test_090_leaves_remembering_to_caller() -> None:
    asked = Asked(compat, remember="session")
    call = [("act", {"x": "a"})]
    run(compat.ApprovalToolset(FunctionToolset([act]), asked), call, call)
    assert len(asked) == 2


def test_080_remembers_for_the_session() -> None:
    asked = Asked(compat_080, remember="session")
    memory = compat_080.ApprovalMemory()
    call = [("act", {"x": "a"})]
    run(compat_080.ApprovalToolset(FunctionToolset([act]), asked, memory), call, call)
    assert len(asked) == 1 and len(memory) == 1
    assert memory.list_approvals()[0][:2] == ("act", {"x": "a"})


def test_080_empty_memory_passed_in_is_kept() -> None:
    memory = compat_080.ApprovalMemory()
    gated = compat_080.ApprovalToolset(FunctionToolset([act]), Asked(compat_080, remember="session"), memory)
    other = compat_080.ApprovalToolset(FunctionToolset([act]), Asked(compat_080), memory)
    run(gated, [("act", {"x": "a"})])
    run(other, [("act", {"x": "a"})])
    assert len(memory) == 1 and other._approval_callback == []


def test_080_strict_denies_with_callback() -> None:
    asked = Asked(compat_080)
    controller = compat_080.ApprovalController("strict", asked)
    gated = compat_080.ApprovalToolset(FunctionToolset([act]), controller.approval_callback, controller.memory)
    with pytest.raises(PermissionError, match="Strict mode"):
        run(gated, [("act", {"x": "a"})])
    assert asked == [] and ran == []


def test_080_path_and_text_are_different_arguments() -> None:
    memory = compat_080.ApprovalMemory()
    memory.store("act", {"x": Path("a")}, compat_080.ApprovalDecision(approved=True, remember="session"))
    assert memory.lookup("act", {"x": "a"}) is None
    assert memory.lookup("act", {"x": Path("a")}) is not None


def test_080_remembered_no_stays_no() -> None:
    memory = compat_080.ApprovalMemory()
    memory.store("act", {"x": "a"}, compat_080.ApprovalDecision(approved=False, remember="session"))
    kept = memory.lookup("act", {"x": "a"})
    assert kept is not None and not kept.approved


def test_080_unknown_mode_raises() -> None:
    controller = compat_080.ApprovalController("yolo", Asked(compat_080))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="yolo"):
        controller.request_approval_sync(compat_080.ApprovalRequest(tool_name="act", tool_args={}, description="x"))


@modules
def test_compat_module_has_every_original_name(module: Any) -> None:
    names = {
        "ApprovalCallback", "ApprovalDecision", "ApprovalRequest", "ApprovalResult", "ApprovalToolset",
        "SupportsApprovalDescription", "SupportsNeedsApproval",
    }
    more = {"ApprovalBlocked", "ApprovalConfig", "ApprovalDenied", "ApprovalError", "needs_approval_from_config"}
    names |= more if module is compat else {"ApprovalController", "ApprovalMemory"}
    assert names == set(module.__all__) and all(hasattr(module, name) for name in names)
