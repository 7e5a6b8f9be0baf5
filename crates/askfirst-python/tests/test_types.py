"""The value types: equality, repr, pickling, copies and accepted arguments."""

import copy
import dataclasses
import pickle

import pytest

import askfirst
from askfirst import (
    ApprovalContext,
    ApprovalDecision,
    ApprovalDenied,
    ApprovalPresentation,
    ApprovalRequest,
    ApprovalScope,
    Denied,
)

pydantic = pytest.importorskip("pydantic")

VALUES = [
    ApprovalRequest("rm", "Remove a", {"path": "a"}),
    ApprovalRequest(
        tool_name="rm",
        description="Remove",
        payload={"a": [1, {"b": None}]},
        presentation=ApprovalPresentation(type="diff", content="+a"),
        group_id="g",
        risk="high",
        exclude_keys={"x", "a"},
        facts=[{"label": "host", "text": "example.org"}],
        same="any removal of a",
        action=[{"words": "remove "}, {"value": "a"}],
    ),
    ApprovalDecision(approved=True, remember="session", note="fine", edited_args={"a": 1}, rest_unseen=True),
    ApprovalPresentation(type="text", content="hello", language="en", metadata={"full_content": "hello"}),
    ApprovalContext("rm", {"path": "a"}, {"run_id": "1"}),
    askfirst.Outcome("denied", text="no", cause="person"),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_compare_copy_pickle_and_print(value):
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.copy(value) == value
    assert copy.deepcopy(value) == value
    assert eval(repr(value), vars(askfirst)) == value
    assert value != object()
    with pytest.raises(TypeError):
        hash(value)


def test_values_are_immutable_and_replace_copies():
    request = VALUES[0]
    with pytest.raises(AttributeError, match="replace"):
        request.risk = "high"
    with pytest.raises(AttributeError):
        del request.risk
    other = request.replace(risk="high")
    assert (request.risk, other.risk) == ("low", "high")
    assert request != other


def test_remember_and_scope_mean_the_same():
    assert ApprovalDecision(approved=True, scope="session").remember == "session"
    assert ApprovalDecision(approved=True, scope=ApprovalScope.ONCE).remember == "none"
    assert ApprovalDecision(approved=True, remember="session").scope is ApprovalScope.SESSION
    assert ApprovalDecision(approved=True).scope is ApprovalScope.ONCE
    assert ApprovalDecision(approved=True, remember="session", scope="session").remember == "session"
    with pytest.raises(ValueError, match="scope"):
        ApprovalDecision(approved=True, remember="session", scope="once")
    with pytest.raises(ValueError, match="remember"):
        ApprovalDecision(approved=True, remember="for ever")


@pytest.mark.parametrize("approved", [1, 0, "yes", None, [True]])
def test_approved_accepts_only_bool(approved):
    with pytest.raises(TypeError, match="approved"):
        ApprovalDecision(approved=approved)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: ApprovalRequest(tool_name=1, description="", payload={}), "tool_name"),
        (lambda: ApprovalRequest(tool_name="t", description=None, payload={}), "description"),
        (lambda: ApprovalRequest(tool_name="t", description="", payload=3), "dict"),
        (lambda: ApprovalRequest(tool_name="t", description="", payload={}, risk="awful"), "risk"),
        (lambda: ApprovalRequest(tool_name="t", description="", payload={}, approval="none"), "approval"),
        (lambda: ApprovalRequest(tool_name="t", description="", payload={}, exclude_keys="body"), "exclude_keys"),
        (lambda: ApprovalPresentation(type="video", content=""), "type"),
        (lambda: ApprovalContext("t", [1]), "dict"),
        (lambda: ApprovalDecision(approved=True, note=3), "note"),
        (lambda: ApprovalDecision(approved=True, stop="no"), "stop"),
        (lambda: ApprovalDecision(approved=True, pattern="1"), "pattern"),
        (lambda: ApprovalDecision(approved=True, unknown=1), "unknown"),
    ],
)
def test_wrong_types_raise(make, match):
    with pytest.raises((TypeError, ValueError), match=match):
        make()


class Model(pydantic.BaseModel):
    path: str
    depth: int = 1


@dataclasses.dataclass
class Data:
    path: str
    depth: int = 1


@pytest.mark.parametrize("given", [{"path": "a", "depth": 1}, Model(path="a"), Data("a")], ids=["dict", "model", "dataclass"])
def test_dicts_models_and_dataclasses_are_accepted(given, asked, yes):
    assert ApprovalRequest("t", "d", given).payload == {"path": "a", "depth": 1}
    assert ApprovalContext("t", given).args == {"path": "a", "depth": 1}
    assert askfirst.simple_approval_request("t", given).description == "t(path='a', depth=1)"
    callback = asked(yes(remember="session"))
    session = askfirst.Session(controller=askfirst.ApprovalController(approval_callback=callback))
    assert session.run("t", given, lambda path, depth: (path, depth)) == ("a", 1)
    assert callback.requests[0].args == {"path": "a", "depth": 1}
    assert session.controller.memory.lookup("t", {"path": "a", "depth": 1}).approved
    assert ApprovalDecision(approved=True, edited_args=given).edited_args == {"path": "a", "depth": 1}


def test_request_may_be_dict(asked):
    controller = askfirst.ApprovalController(approval_callback=asked())
    assert controller.request_approval_sync({"tool_name": "t", "description": "d", "payload": {}}).approved


def test_denials_are_permission_errors_and_pickle():
    error = ApprovalDenied("no", tool_name="rm", cause="person", note="not today")
    assert isinstance(error, PermissionError)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.cause, again.note) == ("no", "person", "not today")
    text = Denied("no", cause="policy", tool_name="rm")
    again = pickle.loads(pickle.dumps(text))
    assert (again, again.cause, again.tool_name) == ("no", "policy", "rm")
    assert isinstance(text.error(), askfirst.ApprovalBlocked)
    assert not isinstance(Denied("no", cause="person").error(), askfirst.ApprovalBlocked)


def test_simple_request_omits_excluded_keys():
    request = askfirst.simple_approval_request("send", {"to": "ada", "body": "s3cret"}, exclude_keys={"body"})
    assert request.payload == {"to": "ada"}
    assert "s3cret" not in request.description
    assert request.exclude_keys == ["body"]
    assert askfirst.simple_approval_request("t", {}, description="mine").description == "mine"


def test_tool_with_check_approval_is_approval_aware():
    @askfirst.requires_approval
    def tool():
        pass

    assert isinstance(tool, askfirst.ApprovalAware)
    assert not isinstance(print, askfirst.ApprovalAware)
