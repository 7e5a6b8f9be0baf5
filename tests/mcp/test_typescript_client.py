"""The official TypeScript clients, the long-standing one and its successor, with the gateway in front of real servers."""

import subprocess
from pathlib import Path

import pytest
from conftest import EVERYTHING, FILESYSTEM, HOME, PATIENCE, node

SCRIPT = Path(__file__).with_name("typescript.mjs")
ALLOWED = """
  mcp__everything__get-env: { approval: deny }
  "mcp__everything__*": { approval: none }
"""

both = pytest.mark.parametrize("generation", ["v1", "v2"])


def goes_well(place, generation, task, *target, **env):
    command = [node(), str(SCRIPT), generation, task, *target]
    env = {**place.env, "MCP_HOME": str(HOME), **env}
    run = subprocess.run(command, cwd=place.folder, env=env, capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0 and run.stdout.endswith("ok\n"), run.stdout + run.stderr


@both
def test_everything_over_standard_streams(place, generation):
    place.config(ALLOWED)
    goes_well(place, generation, "everything", *place.behind("everything", node(), EVERYTHING))
    called = [message["params"]["name"] for message in place.heard() if message.get("method") == "tools/call"]
    assert "echo" in called and "get-env" not in called


@both
def test_everything_over_http_with_a_token(place, generation):
    place.config(ALLOWED)
    with place.everything() as server:
        args = ("--name", "everything", "--url", server)
        with place.listening(*args, token="a-token-of-this-test") as url:
            goes_well(place, generation, "everything", url, TOKEN="a-token-of-this-test")


@both
def test_everything_on_standard_streams_for_clients_over_http(place, generation):
    place.config(ALLOWED)
    with place.listening("--name", "everything", "--", node(), EVERYTHING) as url:
        goes_well(place, generation, "everything", url)


@both
def test_both_revisions_over_http(place, generation):
    place.config("""
  mcp__fixture__test_image_content: { approval: deny }
  "mcp__fixture__*": { approval: none }
""")
    with place.fixture() as server, place.listening("--name", "fixture", "--url", server) as url:
        goes_well(place, generation, "fixture", url)
        goes_well(place, generation, "fixture", *place.gateway("--name", "fixture", "--url", server))


@both
def test_call_cancelled_by_the_client_is_withdrawn(place, generation):
    place.config(ALLOWED)
    goes_well(place, generation, "cancel", *place.behind("everything", node(), EVERYTHING))
    heard = place.heard()
    slow = [m["id"] for m in heard if m.get("params", {}).get("name") == "trigger-long-running-operation"]
    given_up = [m["params"]["requestId"] for m in heard if m.get("method") == "notifications/cancelled"]
    assert len(slow) == 1 and slow[0] in given_up


@both
def test_files_are_read_and_not_written(place, generation):
    place.config("""
  mcp__files__write_file: { approval: deny }
  "mcp__files__*": { approval: none }
""")
    shelf = place.folder / "shelf"
    shelf.mkdir()
    (shelf / "note.txt").write_text("buy milk")
    goes_well(place, generation, "files", *place.behind("files", node(), FILESYSTEM, str(shelf)))
    assert (shelf / "note.txt").read_text() == "buy milk"
