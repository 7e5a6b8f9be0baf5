"""The corpus of cases that every door runs, through Python."""

import pathlib

import pytest
import yaml

import askfirst

CASES = pathlib.Path(__file__).parents[3] / "spec" / "cases"


def cases():
    for path in sorted(CASES.glob("*.yaml")):
        for spec in yaml.safe_load(path.read_text()):
            for number, call in enumerate(spec.get("calls", [])):
                if "assess" not in call and not spec.get("folders"):
                    yield pytest.param(spec, call, id=f"{path.stem}: {spec['name']} [{number}]")


@pytest.mark.parametrize(("spec", "call"), list(cases()))
def test_case(spec, call, tmp_path):
    config = tmp_path / "askfirst.yaml"
    config.write_text(spec["config"])
    judge = askfirst.Judge(config)
    answer = judge.decide(call["tool"], call.get("args"), call.get("metadata"))
    assert answer["verdict"] == call["verdict"], answer
    assert answer["because"][0]["rule"] == call["rule"], answer
    assert ("request" in answer) == (call["verdict"] == "ask")


def test_what_is_not_json_is_denied():
    judge = askfirst.Judge({"version": 1, "default_approval": "none"})
    cyclic = {}
    cyclic["self"] = cyclic
    for args in ({"x": float("nan")}, {"x": object()}, cyclic, {"x": 2**64}):
        assert judge.decide("anything", args)["verdict"] == "deny"
    assert judge.decide("anything", {"x": 2**63})["verdict"] == "allow"


def test_a_dict_hands_unknown_keys_to_the_override():
    assert askfirst.Judge({"version": 1, "tools": {"t": {"approval": "none", "mine": 1}}}).decide("t")["verdict"] == "allow"


def test_a_faulty_config_is_a_value_error_with_every_fault(tmp_path):
    config = tmp_path / "askfirst.yaml"
    config.write_text("version: 1\ntols: {}\ndefault_approval: maybe\n")
    with pytest.raises(ValueError, match="tols") as error:
        askfirst.Judge(config)
    assert "maybe" in str(error.value)
