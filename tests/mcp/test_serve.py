"""Our own server: the official Python and TypeScript clients in front of it, on standard streams and over HTTP."""

import json
import subprocess
from pathlib import Path

import anyio
import httpx2
import mcp_types as types
import pytest
from conftest import HOME, PATIENCE, node
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

SCRIPT = Path(__file__).with_name("typescript.mjs")
TOKEN = "a-token-of-this-test"
ASK = ("--ask-by", "elicitation")

modes = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])


def words(result):
    return " ".join(part.text for part in result.content if part.type == "text")


class Person:
    """Answer for the person at the client: yes to a request about the file `yes.txt`, no to the rest."""

    def __init__(self):
        self.asked = []

    async def answer(self, context, params):
        self.asked.append(params.message)
        said = "approve once" if "yes.txt" in params.message else "deny"
        return types.ElicitResult(action="accept", content={"answer": said, "reason": "as the test wants"})


async def all_of_it(client, person, shelf):
    """Tools are listed; reading runs, writing is asked about, what is not there is refused."""
    names = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert {"read_file", "write_file", "count"} <= set(names)
    assert names["count"].input_schema["properties"]["path"]["type"] == "string"

    read = await client.call_tool("read_file", {"path": "shelf:note.txt"})
    assert not read.is_error and "buy milk" in words(read)
    counted = await client.call_tool("count", {"path": str(shelf / "note.txt")})
    assert counted.structured_content["stdout"].split()[0] == "2"

    written = await client.call_tool("write_file", {"path": "shelf:yes.txt", "content": "yes"})
    assert not written.is_error, words(written)
    refused = await client.call_tool("write_file", {"path": "shelf:no.txt", "content": "no"})
    assert refused.is_error and "as the test wants" in words(refused)
    outside = await client.call_tool("read_file", {"path": "/etc/passwd"})
    assert outside.is_error and "root:" not in words(outside)
    assert len(person.asked) == 2 and "shelf:yes.txt" in person.asked[0]


def holds(place, shelf):
    assert (shelf / "yes.txt").read_text() == "yes" and not (shelf / "no.txt").exists()
    kinds = [json.loads(line)["kind"] for line in place.recorded().splitlines()]
    assert "decided" in kinds and TOKEN not in place.recorded()


@modes
def test_the_python_client_over_standard_streams(place, mode):
    shelf, person = place.shelf(), Person()
    command = place.server(*ASK)

    async def main():
        server = StdioServerParameters(command=command[0], args=command[1:], env=place.env, cwd=place.folder)
        client = Client(server, mode=mode, elicitation_callback=person.answer, read_timeout_seconds=60)
        async with client:
            await all_of_it(client, person, shelf)

    anyio.run(main)
    holds(place, shelf)


@modes
def test_the_python_client_over_http(place, mode):
    shelf, person = place.shelf(), Person()

    async def main(url):
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            server = streamable_http_client(url, http_client=http)
            async with Client(server, mode=mode, elicitation_callback=person.answer) as client:
                await all_of_it(client, person, shelf)

    with place.serving(*ASK, token=TOKEN) as url:
        anyio.run(main, url)
    holds(place, shelf)


@modes
def test_a_client_over_http_is_asked_by_the_gateway(place, mode):
    (place.folder / "c.yaml").write_text(
        "version: 1\nledger: { path: ./record.jsonl }\n"
        "mcp: { fixture: { command: [none], ask_by: [elicitation] } }\n"
    )
    person = Person()

    async def main(url):
        async with Client(url, mode=mode, elicitation_callback=person.answer) as client:
            refused = await client.call_tool("test_simple_text", {})
            assert refused.is_error and "as the test wants" in words(refused)
            ran = await client.call_tool("test_simple_text", {"about": "yes.txt"})
            assert not ran.is_error and words(ran).startswith("This is")

    with place.fixture() as server, place.listening("--name", "fixture", "--url", server) as url:
        anyio.run(main, url)
    assert len(person.asked) == 2


@pytest.mark.parametrize("generation", ["v1", "v2"])
@pytest.mark.parametrize("front_end", ["standard streams", "http"])
def test_the_typescript_clients(place, generation, front_end):
    shelf = place.shelf()

    def goes_well(*target, **env):
        command = [node(), str(SCRIPT), generation, "serve", *target]
        env = {**place.env, "MCP_HOME": str(HOME), **env}
        run = subprocess.run(command, cwd=place.folder, env=env, capture_output=True, text=True, timeout=PATIENCE)
        assert run.returncode == 0 and run.stdout.endswith("ok\n"), run.stdout + run.stderr

    if front_end == "http":
        with place.serving(*ASK, token=TOKEN) as url:
            goes_well(url, TOKEN=TOKEN)
    else:
        goes_well(*place.server(*ASK))
    holds(place, shelf)
