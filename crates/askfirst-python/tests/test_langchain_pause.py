"""``ApprovalMiddleware`` with a checkpointer: runs that pause, and runs that were killed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from frameworks import Person, chat, no, yes
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from askfirst import ApprovalController, ApprovalDecision
from askfirst.langchain import ApprovalMiddleware, ApprovalToolWrapper

ran: list[Any] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


@tool
def send(to: str) -> str:
    """Sends."""
    ran.append(to)
    return f"sent to {to}"


class Paused:
    """An agent that pauses for answers."""

    config: Any = {"configurable": {"thread_id": "t"}}

    def __init__(self, *steps: Any, **options: Any) -> None:
        self.middleware = ApprovalMiddleware(pause=True, **options)
        self.agent = create_agent(chat(*steps), [send], middleware=[self.middleware], checkpointer=InMemorySaver())
        self.result = self.agent.invoke({"messages": [("user", "go")]}, self.config)

    @property
    def questions(self) -> list[Any]:
        return [each.value for each in self.result.get("__interrupt__", [])]

    def resume(self, answer: Any) -> list[ToolMessage]:
        self.result = self.agent.invoke(Command(resume=answer), self.config)
        return [message for message in self.result["messages"] if isinstance(message, ToolMessage)]


CALL = [("send", {"to": "ada"})]


def test_paused_run_shows_question_as_json() -> None:
    paused = Paused(CALL)
    assert ran == [] and len(paused.questions) == 1
    shown = json.loads(json.dumps(paused.questions[0]))
    assert shown["name"] == "send" and shown["args"] == {"to": "ada"} and shown["tool_call_id"] == "c0-0"
    assert shown["type"] == "tool_approval" and shown["description"]


@pytest.mark.parametrize(
    "answer",
    [
        ApprovalDecision(approved=True).to_dict(),
        {"approved": True},
        {"type": "approve"},
        {"decisions": [{"type": "approve"}]},
    ],
    ids=["decision", "fields", "langchain", "langchain batch"],
)
def test_approval_resumes_run(answer: Any) -> None:
    result = Paused(CALL).resume(answer)
    assert [message.content for message in result] == ["sent to ada"] and ran == ["ada"]


@pytest.mark.parametrize(
    "answer",
    [{"approved": False, "note": "not today"}, {"type": "reject", "message": "not today"}],
    ids=["fields", "langchain"],
)
def test_rejection_is_message_to_model(answer: Any) -> None:
    paused = Paused(CALL)
    result = paused.resume(answer)
    assert result[0].status == "error" and "not today" in result[0].content and ran == []
    assert paused.result["messages"][-1].content == "done"


@pytest.mark.parametrize(
    "answer",
    [
        {"approved": True, "edited_args": {"to": "eve"}},
        {"type": "edit", "edited_action": {"name": "send", "args": {"to": "eve"}}},
    ],
    ids=["fields", "langchain"],
)
def test_edited_call_runs_with_edited_args(answer: Any) -> None:
    content = str(Paused(CALL).resume(answer)[0].content)
    assert content.startswith("sent to eve\n\naskfirst: a person edited the arguments") and ran == ["eve"]


def test_edited_call_is_judged_again() -> None:
    entry: Any = [{"approval": "deny", "when": {"to": ["eve"]}}, {"approval": "required"}]
    result = Paused(CALL, tool_configs={"send": entry}).resume({"approved": True, "edited_args": {"to": "eve"}})
    assert result[0].status == "error" and ran == []


@pytest.mark.parametrize(
    "answer",
    [
        True,
        "yes",
        {"approved": 1},
        {"approved": True, "force": True},
        {"type": "approved"},
        {"decisions": []},
        {"decisions": [{"type": "approve"}, {"type": "approve"}]},
        {"type": "edit", "edited_action": {"name": "other", "args": {}}},
        {"type": "edit", "edited_action": {"name": "send", "args": "all"}},
        {"type": "respond", "message": "I did it"},
    ],
    ids=str,
)
def test_invalid_answer_approves_nothing(answer: Any) -> None:
    result = Paused(CALL).resume(answer)
    assert result[0].status == "error" and ran == []


def test_remembered_answer_does_not_pause_again() -> None:
    paused = Paused(CALL, CALL)
    paused.resume({"type": "approve", "remember": "session"})
    assert paused.questions == [] and ran == ["ada", "ada"]


def test_call_without_question_does_not_pause() -> None:
    assert Paused(CALL, tool_configs={"send": {"approval": "none"}}).questions == [] and ran == ["ada"]
    ran.clear()
    assert Paused(CALL, tool_configs={"send": {"approval": "deny"}}).questions == [] and ran == []
    assert Paused(CALL, controller=ApprovalController(mode="strict")).questions == [] and ran == []
    assert Paused(CALL, controller=ApprovalController(mode="approve_all")).questions == [] and ran == ["ada"]


def test_parallel_calls_pause_together_and_get_own_answers() -> None:
    paused = Paused([("send", {"to": "ada"}), ("send", {"to": "bob"})])
    assert sorted(question["args"]["to"] for question in paused.questions) == ["ada", "bob"]
    kinds = {"ada": "approve", "bob": "reject"}
    answers = {each.id: {"type": kinds[each.value["args"]["to"]]} for each in paused.result["__interrupt__"]}
    result = paused.resume(answers)
    assert [message.status for message in result] == ["success", "error"] and ran == ["ada"]


def test_paused_async_run_resumes() -> None:
    async def main() -> Any:
        middleware = ApprovalMiddleware(pause=True)
        agent = create_agent(chat(CALL), [send], middleware=[middleware], checkpointer=InMemorySaver())
        first = await agent.ainvoke({"messages": [("user", "go")]}, Paused.config)
        assert len(first["__interrupt__"]) == 1 and ran == []
        return await agent.ainvoke(Command(resume={"type": "approve"}), Paused.config)

    assert asyncio.run(main())["messages"][-1].content == "done" and ran == ["ada"]


def test_callback_with_checkpointer_does_not_pause() -> None:
    person = Person(yes())
    middleware = ApprovalMiddleware(approval_callback=person)
    agent = create_agent(chat(CALL), [send], middleware=[middleware], checkpointer=InMemorySaver())
    agent.invoke({"messages": [("user", "go")]}, Paused.config)
    assert person.names == ["send"] and ran == ["ada"]


def ask_more(to: str) -> str:
    """Asks the user something else while it runs."""
    ran.append(("start", to))
    answer = interrupt(f"really {to}?")
    ran.append((answer, to))
    return f"{answer} {to}"


def interrupting(kind: str, person: Person, *steps: Any) -> Any:
    """Return an agent whose tool interrupts the run: with middleware, a wrapper, or a plain graph."""
    tools: list[Any] = [tool(ask_more)]
    controller = ApprovalController(approval_callback=person)
    middleware = ApprovalMiddleware(controller)
    if kind == "wrapper":
        return create_agent(chat(*steps), [ApprovalToolWrapper(tools[0], controller)], checkpointer=InMemorySaver())
    if kind == "middleware":
        return create_agent(chat(*steps), tools, middleware=[middleware], checkpointer=InMemorySaver())
    node = ToolNode(tools, wrap_tool_call=middleware.wrap_tool_call, awrap_tool_call=middleware.awrap_tool_call)
    graph = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    return graph.compile(checkpointer=InMemorySaver())


kinds = pytest.mark.parametrize("kind", ["middleware", "wrapper", "graph"])
ASK = [("ask_more", {"to": "ada"})]


def first_input(kind: str, *calls: Any) -> Any:
    if kind != "graph":
        return {"messages": [("user", "go")]}
    made = [{"name": name, "args": args, "id": f"g{n}"} for n, (name, args) in enumerate(calls)]
    return {"messages": [AIMessage("", tool_calls=made)]}


@kinds
def test_tool_that_interrupts_is_not_asked_about_again(kind: str) -> None:
    person = Person(each=lambda request: yes(note="go"))
    agent = interrupting(kind, person, ASK)
    paused = agent.invoke(first_input(kind, *ASK), Paused.config)
    assert paused["__interrupt__"][0].value == "really ada?"
    done = agent.invoke(Command(resume="yes"), Paused.config)
    (message,) = [each for each in done["messages"] if isinstance(each, ToolMessage)]
    assert message.content == "yes ada\n\naskfirst: the person who approved the call wrote: go"
    assert len(person.asked) == 1 and ran == [("start", "ada"), ("start", "ada"), ("yes", "ada")]


@kinds
def test_edited_call_that_interrupts_runs_again_as_edited(kind: str) -> None:
    person = Person(ApprovalDecision(approved=True, edited_args={"to": "eve"}), yes())
    agent = interrupting(kind, person, ASK)
    agent.invoke(first_input(kind, *ASK), Paused.config)
    done = agent.invoke(Command(resume="yes"), Paused.config)
    (message,) = [each for each in done["messages"] if isinstance(each, ToolMessage)]
    assert str(message.content).startswith("yes eve\n\naskfirst: a person edited the arguments")
    assert len(person.asked) == 2 and ran[-1] == ("yes", "eve")


@kinds
def test_refused_call_is_not_approved_by_a_rerun(kind: str) -> None:
    person = Person(each=lambda request: no("not bob") if request.args["to"] == "bob" else yes())
    calls = [*ASK, ("ask_more", {"to": "bob"})]
    agent = interrupting(kind, person, calls)
    agent.invoke(first_input(kind, *calls), Paused.config)
    done = agent.invoke(Command(resume="yes"), Paused.config)
    results = [each for each in done["messages"] if isinstance(each, ToolMessage)]
    assert sorted(each.status for each in results) == ["error", "success"]
    assert ("start", "bob") not in ran
    assert [request.args["to"] for request in person.asked].count("ada") == 1


@kinds
def test_equal_call_after_an_interrupt_is_asked_about(kind: str) -> None:
    person = Person(each=lambda request: yes())
    agent = interrupting(kind, person, ASK, ASK)
    agent.invoke(first_input(kind, *ASK), Paused.config)
    done = agent.invoke(Command(resume="yes"), Paused.config)
    if kind == "graph":
        # The same ids in a new step are a new call.
        done = agent.invoke(first_input(kind, *ASK), Paused.config)
    assert len(person.asked) == 2 and done["__interrupt__"]


def test_paused_run_whose_tool_interrupts_asks_each_once() -> None:
    agent = create_agent(
        chat(ASK), [tool(ask_more)], middleware=[ApprovalMiddleware(pause=True)], checkpointer=InMemorySaver()
    )
    paused = agent.invoke({"messages": [("user", "go")]}, Paused.config)
    assert paused["__interrupt__"][0].value["name"] == "ask_more"
    paused = agent.invoke(Command(resume={"type": "approve"}), Paused.config)
    assert paused["__interrupt__"][0].value == "really ada?"
    done = agent.invoke(Command(resume="yes"), Paused.config)
    assert done["messages"][-1].content == "done" and ran[-1] == ("yes", "ada")


PROGRAM = '''
import sys
from pathlib import Path
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command
from askfirst import ApprovalDecision
from askfirst.langchain import ApprovalMiddleware
from frameworks import chat

folder, way = Path(sys.argv[1]), sys.argv[2]

@tool
def act(x: int) -> str:
    """Acts."""
    with (folder / "ran").open("a") as file:
        file.write(f"{x}\\n")
    return f"did {x}"

def ask(request):
    if way == "die":
        print("asking", flush=True)
        sys.stdin.read()
    return ApprovalDecision(approved=True)

paused = way in ("pause", "resume")
middleware = ApprovalMiddleware(pause=True) if paused else ApprovalMiddleware(approval_callback=ask)
steps = ([("act", {"x": 7})],) if way in ("die", "pause") else ()
given = {"die": {"messages": [("user", "go")]}, "pause": {"messages": [("user", "go")]}, "go on": None,
         "resume": Command(resume={"type": "approve"})}[way]
with SqliteSaver.from_conn_string(str(folder / "state.db")) as saver:
    agent = create_agent(chat(*steps), [act], middleware=[middleware], checkpointer=saver)
    result = agent.invoke(given, {"configurable": {"thread_id": "t"}}, durability="sync")
print([each.value["name"] for each in result.get("__interrupt__", [])], result["messages"][-1].content)
'''


def program(folder: Path, way: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), way],
        capture_output=True, text=True, cwd=Path(__file__).parent, timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_paused_run_continues_in_other_process(tmp_path: Path) -> None:
    assert program(tmp_path, "pause").startswith("['act']") and not (tmp_path / "ran").exists()
    assert program(tmp_path, "resume") == "[] done"
    assert (tmp_path / "ran").read_text() == "7\n"


def test_run_killed_during_question_asks_again_and_runs_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), "die"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "asking\n"
        process.kill()
    assert not (tmp_path / "ran").exists()
    assert program(tmp_path, "go on") == "[] done"
    assert (tmp_path / "ran").read_text() == "7\n"
