"""Runs the cases that all front ends share, through Python."""

import pathlib

import pytest
import yaml

import askfirst
from askfirst import Session

CASES = pathlib.Path(__file__).parents[3] / "spec" / "cases"


def specs():
    for path in sorted(CASES.glob("*.yaml")):
        for spec in yaml.safe_load(path.read_text()):
            yield f"{path.stem}: {spec['name']}", spec


def cases():
    for name, spec in specs():
        for number, call in enumerate(spec.get("calls", [])):
            yield pytest.param(spec, call, id=f"{name} [{number}]")


def config_of(spec, folder):
    for name in spec.get("folders", []):
        (folder / name).mkdir()
    config = folder / "askfirst.yaml"
    config.write_text(spec["config"])
    return config


def assess_of(call):
    """Return the check that gives the assessment of a case."""
    own = call.get("assess")
    if own is None:
        return None

    def assess(name, args, metadata):
        if own == "harmless":
            return False
        if "blocked" in own:
            raise PermissionError(own["blocked"])
        return {"tool_name": name, "description": "asks", "payload": {}, "approval": own["needs"]}

    return assess


@pytest.mark.parametrize("spec", [pytest.param(spec, id=name) for name, spec in specs()])
def test_spec_config_gives_expected_warnings(spec, tmp_path):
    warnings = askfirst.Judge(config_of(spec, tmp_path)).warnings
    assert bool(warnings) == bool(spec.get("warns")), warnings
    for word in spec.get("warns", []):
        assert any(word in warning for warning in warnings), (word, warnings)


@pytest.mark.parametrize(("spec", "call"), list(cases()))
def test_case(spec, call, tmp_path):
    session = Session(config_of(spec, tmp_path), builtin_tools="assess" not in call)
    answer = session.decide(call["tool"], call.get("args"), call.get("metadata"), assess_of(call))
    assert answer["verdict"] == call["verdict"], answer
    assert answer["because"][0]["rule"] == call["rule"], answer
    assert ("request" in answer) == (call["verdict"] == "ask")
    for key, value in call.get("request", {}).items():
        assert answer["request"][key] == value, (key, answer)


@pytest.mark.parametrize(
    ("spec", "call", "mode"),
    [
        pytest.param(*case.values, mode, id=f"{case.id} {mode}")
        for case in cases()
        for mode in case.values[1].get("modes", {})
    ],
)
def test_case_in_each_mode(spec, call, mode, tmp_path):
    asked = []

    def answer(request):
        asked.append(request)
        return askfirst.ApprovalDecision(approved=True)

    controller = askfirst.ApprovalController(mode=mode, approval_callback=answer)
    session = Session(config_of(spec, tmp_path), controller=controller)
    became = session.run(call["tool"], call.get("args"), lambda **args: "ran", assess=assess_of(call))
    became = "refused" if isinstance(became, askfirst.Denied) else "asked" if asked else became
    assert became == call["modes"][mode]


def test_arguments_outside_json_are_denied():
    judge = askfirst.Judge({"version": 1, "default_approval": "none"})
    cyclic = {}
    cyclic["self"] = cyclic
    for args in ({"x": float("nan")}, {"x": object()}, cyclic, {"x": 2**64}):
        assert judge.decide("anything", args)["verdict"] == "deny"
    assert judge.decide("anything", {"x": 2**63})["verdict"] == "allow"


def test_dict_takes_keys_of_the_program_under_options():
    config = {"version": 1, "tools": {"t": {"approval": "none", "options": {"mine": 1, "aproval": "deny"}}}}
    assert askfirst.Judge(config).decide("t")["verdict"] == "allow"


def test_invalid_config_is_value_error_with_all_faults(tmp_path):
    config = tmp_path / "askfirst.yaml"
    config.write_text("version: 1\ntols: {}\ndefault_approval: maybe\n")
    with pytest.raises(ValueError, match="tols") as error:
        askfirst.Judge(config)
    assert "maybe" in str(error.value)
