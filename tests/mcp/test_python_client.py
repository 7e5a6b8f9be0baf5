"""The official Python client, in front of official servers, with the gateway between them."""

import anyio
import httpx2
import mcp_types as types
import pytest
from conftest import EVERYTHING, FILESYSTEM, node
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

ALLOWED = """
  mcp__everything__get-env: { approval: deny }
  "mcp__everything__*": { approval: none }
"""


async def sampled(context, params):
    return types.CreateMessageResult(
        role="assistant", content=types.TextContent(type="text", text="a model's answer"), model="none"
    )


async def elicited(context, params):
    return types.ElicitResult(action="accept", content={"name": "Ada"})


def by_stdio(place, command, **more):
    server = StdioServerParameters(command=command[0], args=command[1:], env=place.env, cwd=place.folder)
    return Client(server, read_timeout_seconds=60, **more)


def words(result):
    return " ".join(part.text for part in result.content if part.type == "text")


async def all_of_everything(client):
    """Use all of server-everything: tools, a denial, progress, resources, prompts, sampling, elicitation."""
    names = {tool.name for tool in (await client.list_tools()).tools}
    assert {"echo", "get-env", "get-sum"} <= names

    assert words(await client.call_tool("echo", {"message": "hello there"})) == "Echo: hello there"
    structured = await client.call_tool("get-structured-content", {"location": "New York"})
    assert structured.structured_content["conditions"]

    denied = await client.call_tool("get-env", {})
    assert denied.is_error and "mcp__everything__get-env" in words(denied) and "refused" in words(denied)

    steps = []

    async def progressed(progress, total, message):
        steps.append((progress, total))

    slow = await client.call_tool(
        "trigger-long-running-operation", {"duration": 0.3, "steps": 3}, progress_callback=progressed
    )
    assert "completed" in words(slow) and steps == [(1, 3), (2, 3), (3, 3)]

    uri = "demo://resource/dynamic/text/1"
    assert (await client.read_resource(uri)).contents[0].uri == uri
    assert (await client.list_resource_templates()).resource_templates
    prompt = await client.get_prompt("args-prompt", {"city": "Oslo"})
    assert "Oslo" in prompt.messages[0].content.text
    assert (await client.list_prompts()).prompts

    sample = await client.call_tool("trigger-sampling-request", {"prompt": "hi", "maxTokens": 9})
    assert "a model's answer" in words(sample)
    elicit = await client.call_tool("trigger-elicitation-request", {})
    assert "Ada" in words(elicit)

    with pytest.raises(MCPError):
        await client.get_prompt("no-such-prompt")


def test_everything_over_standard_streams(place):
    place.config(ALLOWED)

    async def main():
        command = place.behind("everything", node(), EVERYTHING)
        client = by_stdio(place, command, sampling_callback=sampled, elicitation_callback=elicited)
        async with client:
            await all_of_everything(client)

    anyio.run(main)
    called = [message["params"]["name"] for message in place.heard() if message.get("method") == "tools/call"]
    assert "echo" in called and "get-env" not in called
    assert "mcp__everything__get-env" in place.recorded()


def test_everything_over_http_with_a_token(place):
    place.config(ALLOWED)

    async def main(url):
        headers = {"Authorization": "Bearer a-token-of-this-test"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            server = streamable_http_client(url, http_client=http)
            async with Client(server, sampling_callback=sampled, elicitation_callback=elicited) as client:
                await all_of_everything(client)

    with place.everything() as server:
        args = ("--name", "everything", "--url", server)
        with place.listening(*args, token="a-token-of-this-test") as url:
            anyio.run(main, url)
            ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            stranger = httpx2.post(url, json=ping, headers={"Accept": "application/json, text/event-stream"})
            assert stranger.status_code == 401


def test_call_cancelled_by_the_client_is_withdrawn(place):
    place.config(ALLOWED)

    async def main():
        async with by_stdio(place, place.behind("everything", node(), EVERYTHING)) as client:
            with pytest.raises(MCPError):
                await client.call_tool(
                    "trigger-long-running-operation", {"duration": 5, "steps": 1}, read_timeout_seconds=1
                )
            assert words(await client.call_tool("get-sum", {"a": 2, "b": 3})).count("5")

    anyio.run(main)
    heard = place.heard()
    slow = [m["id"] for m in heard if m.get("params", {}).get("name") == "trigger-long-running-operation"]
    given_up = [m["params"]["requestId"] for m in heard if m.get("method") == "notifications/cancelled"]
    assert slow == given_up


def test_files_are_read_and_not_written(place):
    place.config("""
  mcp__files__write_file: { approval: deny }
  "mcp__files__*": { approval: none }
""")
    shelf = place.folder / "shelf"
    shelf.mkdir()
    (shelf / "note.txt").write_text("buy milk")

    async def main():
        async with by_stdio(place, place.behind("files", node(), FILESYSTEM, str(shelf))) as client:
            read = await client.call_tool("read_text_file", {"path": str(shelf / "note.txt")})
            assert words(read) == "buy milk"
            written = await client.call_tool("write_file", {"path": str(shelf / "note.txt"), "content": "gone"})
            assert written.is_error and "refused" in words(written)

    anyio.run(main)
    assert (shelf / "note.txt").read_text() == "buy milk"


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28", "auto"])
def test_both_revisions_over_http_and_over_standard_streams(place, mode):
    place.config("""
  mcp__fixture__test_image_content: { approval: deny }
  "mcp__fixture__*": { approval: none }
""")

    async def main(server):
        client = Client(server, mode=mode, elicitation_callback=elicited, read_timeout_seconds=60)
        async with client:
            assert words(await client.call_tool("test_simple_text", {})).startswith("This is")
            denied = await client.call_tool("test_image_content", {})
            assert denied.is_error and "refused" in words(denied)
            asking = "test_elicitation" if mode == "legacy" else "test_input_required_result_elicitation"
            asked = await client.call_tool(asking, {"message": "who?"} if mode == "legacy" else {})
            assert words(asked)
            return client.session.protocol_version

    with place.fixture() as server:
        args = ("--name", "fixture", "--url", server)
        with place.listening(*args) as url:
            assert (anyio.run(main, url) == "2026-07-28") == (mode != "legacy")
        command = place.gateway(*args)
        own = StdioServerParameters(command=command[0], args=command[1:], env=place.env, cwd=place.folder)
        assert (anyio.run(main, own) == "2026-07-28") == (mode != "legacy")
