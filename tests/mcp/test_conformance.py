"""The official suite scores a server the same with the gateway in front of it."""

import re
import subprocess

import pytest
from conftest import CONFORMANCE, PATIENCE, node

# How many scenarios a revision scores: all of them must pass, with and without the gateway.
SCORED = {"2025-11-25": 30, "2026-07-28": 37}
# The only ones that may differ: they call tools that the fixture does not have. The gateway refuses such a call
# by itself, with a result that says why; the fixture says that there is no such tool.
WITHOUT_TOOLS = re.compile(r"^(tasks-.*|server-sse-polling)$")


def score(url, revision, folder):
    """Each scenario with how many of its checks passed and failed, and those that count."""
    command = [node(), CONFORMANCE, "server", "--url", url, "--requirements", revision, "-o", str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=3 * PATIENCE)
    summary = run.stdout.partition("=== SUMMARY ===")[2]
    found = re.findall(r"^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed", summary, re.M)
    apart = set(re.findall(r"^  [✓✗] ([\w-]+) \(", summary, re.M))
    assert found, run.stdout + run.stderr
    checks = {name: (int(passed), int(failed)) for name, passed, failed in found}
    return run.returncode, checks, {name for name in checks if name not in apart}


@pytest.mark.parametrize("revision", SCORED)
def test_the_suite_scores_the_same_behind_the_gateway_as_direct(place, tmp_path, revision):
    place.config('{ "mcp__fixture__*": { approval: none } }')
    with place.fixture() as url:
        code, direct, scored = score(url, revision, tmp_path / "direct")
        assert code == 0 and len(scored) == SCORED[revision]
        assert all(failed == 0 and passed > 0 for passed, failed in (direct[name] for name in scored)), direct
        with place.listening("--name", "fixture", "--url", url) as gateway:
            code, behind, _ = score(gateway, revision, tmp_path / "behind")
    assert code == 0
    assert {name: behind.get(name) for name in scored} == {name: direct[name] for name in scored}
    differ = {name for name in direct if behind.get(name) != direct[name]}
    assert not [name for name in differ if not WITHOUT_TOOLS.match(name)], (direct, behind)
    assert "mcp__fixture__test_simple_text" in place.recorded()
