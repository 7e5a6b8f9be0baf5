"""Arguments as JSON: different values stay different, and values outside JSON are refused."""

import collections
import dataclasses
import datetime
import decimal
import enum
import pathlib
import types
import uuid

import pytest

import askfirst
from askfirst import _askfirst, _json

pydantic = pytest.importorskip("pydantic")


class Colour(enum.Enum):
    RED = "red"


class Word(str, enum.Enum):
    RED = "red"


class Text(str):
    pass


class Number(int):
    pass


class Model(pydantic.BaseModel):
    a: int


class Other(pydantic.BaseModel):
    a: int


@dataclasses.dataclass
class Data:
    a: int


Named = collections.namedtuple("Named", "a")

APART = [
    "x",
    pathlib.PurePosixPath("x"),
    b"x",
    Text("x"),
    {"$path": "x"},
    {"$dict": {"$path": "x"}},
    {"$type": "Text", "value": "x"},
    {"a": 1},
    Model(a=1),
    Other(a=1),
    Data(1),
    Named(1),
    1,
    1.0,
    True,
    Number(1),
    decimal.Decimal(1),
    "1",
    None,
    [],
    {},
    set(),
    Colour.RED,
    Word.RED,
    "red",
    datetime.date(2026, 1, 1),
    datetime.datetime(2026, 1, 1),
    datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc),
    datetime.time(1, 2),
    datetime.timedelta(days=1),
    datetime.timedelta(seconds=1),
    uuid.UUID(int=1),
    "2026-01-01",
]


def test_distinguishable_values_stay_different():
    texts = [_askfirst.to_json(value) for value in APART]
    for at, text in enumerate(texts):
        assert texts.index(text) == at, (APART[at], text)


def test_order_of_keys_and_sets_does_not_matter():
    assert _askfirst.to_json({"b": 1, "a": 2}) == _askfirst.to_json({"a": 2, "b": 1})
    assert _askfirst.to_json({1, 2, 3}) == _askfirst.to_json({3, 2, 1})
    assert _askfirst.to_json((1, [2])) == _askfirst.to_json([1, (2,)])
    assert _askfirst.to_json(types.MappingProxyType({"a": 1})) == _askfirst.to_json({"a": 1})


def cyclic():
    value = {}
    value["self"] = value
    return value


def deep():
    value = []
    for _ in range(200):
        value = [value]
    return value


def shared():
    """Sixty levels, each with the next one twice: 2^60 values."""
    value = []
    for _ in range(60):
        value = [value, value]
    return value


class Hostile:
    def __getattr__(self, name):
        raise RuntimeError("never")


class Lying(dict):
    def __iter__(self):
        raise RuntimeError("never")

    keys = items = __iter__


def growing():
    value = {}

    class Grows(pydantic.BaseModel):
        model_config = {"arbitrary_types_allowed": True}

    class Trap(str):
        def __str__(self):
            value["more"] = 1
            return "x"

    value.update({str(n): Trap("x") for n in range(50)})
    return value


BAD = {
    "nan": float("nan"),
    "inf": float("-inf"),
    "huge int": 2**64,
    "very huge int": 10**5000,
    "negative": -(2**63) - 1,
    "object": object(),
    "function": print,
    "class": int,
    "complex": 1j,
    "generator": (n for n in ()),
    "key that is no text": {1: 2},
    "key that is a path": {pathlib.PurePath("x"): 2},
    "half a surrogate": "\ud800",
    "half a surrogate as a key": {"\ud800": 1},
    "path with bytes": pathlib.PurePosixPath("\udcff"),
    "cycle": cyclic(),
    "cycle in a list": (lambda a: a.append(a) or a)([]),
    "deep": deep(),
    "shared": shared(),
    "hostile": Hostile(),
    "lying": Lying(a=1),
    "model with a bad field": Model.model_construct(a=object()),
}


@pytest.mark.parametrize("value", BAD.values(), ids=BAD.keys())
def test_value_outside_json_is_refused_and_never_runs(value, asked):
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        _askfirst.to_json(value)
    callback, ran = asked(), []
    config = {"tools": {"free": {"approval": "none"}}}
    session = askfirst.Session(config, controller=askfirst.ApprovalController(approval_callback=callback))
    for tool in ("free", "asking"):
        denied = session.run(tool, {"x": value}, lambda **args: ran.append(args))
        assert isinstance(denied, askfirst.Denied), denied
        assert denied.cause == "policy"
        assert "invalid arguments" in denied
    assert ran == []
    assert callback.times == 0


def test_dict_that_changes_during_reading_is_harmless():
    for _ in range(3):
        try:
            _askfirst.to_json(growing())
        except (TypeError, ValueError, RuntimeError):
            pass


def test_arguments_that_are_not_mappings_are_refused():
    session = askfirst.Session({"default_approval": "none"})
    for args in ([1], "text", 3, object()):
        assert "expected a dict" in session.run("t", args, print)


def test_tool_gets_original_objects(asked):
    args = {"path": pathlib.Path("x"), "when": datetime.datetime.now(), "model": Model(a=1), "list": [1]}
    for config in ({"default_approval": "none"}, {}):
        session = askfirst.Session(config, controller=askfirst.ApprovalController(approval_callback=asked()))
        got = session.run("t", args, lambda **args: args)
        assert all(got[key] is args[key] for key in args)


def test_args_changed_during_question_run_as_shown(yes):
    args = {"path": "shown", "n": [1]}

    def callback(request):
        args["path"] = "other"
        args["n"].append(2)
        return yes()

    session = askfirst.Session(controller=askfirst.ApprovalController(approval_callback=callback))
    assert session.run("t", args, lambda path, n: (path, n)) == ("shown", [1])


def test_edited_args_get_original_types(yes):
    given = {
        "path": pathlib.PurePosixPath("a"),
        "model": Model(a=1),
        "data": Data(1),
        "colour": Colour.RED,
        "bytes": b"a",
        "when": datetime.date(2026, 1, 1),
        "same": Hidden(),
    }
    edits = {
        "path": {"$path": "b"},
        "model": {"$type": "Model", "a": 2},
        "data": {"$type": "Data", "a": 3},
        "bytes": {"$bytes": "Yg=="},
        "when": {"$date": "2027-01-01"},
    }

    def callback(request):
        if request.args["path"] == edits["path"]:
            return yes()
        return yes(edited_args={**request.args, **edits})

    session = askfirst.Session(controller=askfirst.ApprovalController(approval_callback=callback))
    got = session.run("t", given, lambda **args: args)
    assert got == {
        "path": pathlib.PurePosixPath("b"),
        "model": Model(a=2),
        "data": Data(3),
        "colour": Colour.RED,
        "bytes": b"b",
        "when": datetime.date(2027, 1, 1),
        "same": given["same"],
    }


class Hidden(pydantic.BaseModel):
    secret: int = 1


def test_edit_that_cannot_be_converted_runs_nothing(yes):
    def callback(request):
        if request.args["x"] == {"$type": "Nothing", "a": 1}:
            return yes()
        return yes(edited_args={"x": {"$type": "Nothing", "a": 1}})

    ran = []
    session = askfirst.Session(controller=askfirst.ApprovalController(approval_callback=callback))
    with pytest.raises(askfirst.ToolFailed, match="cannot build"):
        session.run("t", {"x": 1}, ran.append)
    assert ran == []


def test_request_survives_round_trip_to_callback(yes):
    """A request that went to a callback still has the same payload."""
    seen = []
    controller = askfirst.ApprovalController(approval_callback=lambda request: seen.append(request) or yes())
    session = askfirst.Session(controller=controller)
    args = {"path": pathlib.Path("x"), "like": {"$path": "x"}}
    session.run("t", args, lambda **args: None)
    controller.add_session_approval(seen[0])
    assert controller.is_session_approved(seen[0])
    session.run("t", args, lambda **args: None)
    assert len(seen) == 1
    session.run("t", {**args, "like": pathlib.Path("x")}, lambda **args: None)
    assert len(seen) == 2


def test_decode_reverses_encode():
    for value in APART:
        tagged = _askfirst.plain(value)
        assert _json.decode(tagged, value) == value or value != value
