"""The tools of the config from Python: files, and programs in the sandbox."""

import asyncio
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import askfirst
from askfirst import _askfirst

PACKAGE = pathlib.Path(_askfirst.__file__).parent
CONFIG = """version: 1
sandbox:
  paths: { work: { root: ., mode: rw, approval: { read: none, write: none } } }
  never_read: [".env"]
  require_os_sandbox: true
shell: { default: { approval: required } }
tools: { count: { command: [wc, -w, "{path}"], args: { path: { type: string } }, approval: none } }
"""


@pytest.fixture
def config(tmp_path):
    path = pathlib.Path("askfirst.yaml").absolute()
    path.write_text(CONFIG)
    pathlib.Path(".env").write_text("SECRET=1\n")
    return path


def skip_without_sandbox():
    tier, why = _askfirst.sandbox_tier(_askfirst.__file__)
    if tier != "full":
        note = os.environ.get("ASKFIRST_SKIPS")
        if note:
            with open(note, "a") as file:
                file.write(f"python_shell_runs_in_sandbox: {why}\n")
        pytest.skip(f"no sandbox works here: {why}")


def test_package_contains_sandbox_helper():
    program, noted = PACKAGE / "askfirst", PACKAGE / "askfirst.sha256"
    assert os.access(program, os.X_OK)
    assert noted.read_text().split()[0] == hashlib.sha256(program.read_bytes()).hexdigest()
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert askfirst.__version__ in version
    module = subprocess.run([sys.executable, "-m", "askfirst", "--version"], capture_output=True, text=True, check=True)
    assert module.stdout == version


def test_shell_runs_in_sandbox(config, asked, tmp_path):
    skip_without_sandbox()
    callback = asked()
    (tmp_path / "home" / "outside").write_text("outside\n")
    with askfirst.session(config, approval_callback=callback) as session:
        names = {tool["name"] for tool in session.definitions()}
        assert {"shell", "read_file", "write_file", "count"} <= names
        session.call("write_file", {"path": "a.txt", "content": "one two\n"})
        assert session.call("shell", {"command": "cat a.txt"})["stdout"] == "one two\n"
        assert callback.requests[-1].presentation.type == "command"
        assert session.call("count", {"path": "a.txt"})["stdout"].split()[0] == "2"
        for command in ("cat .env", "cat /etc/shadow", f"cat {tmp_path}/home/outside"):
            try:
                got = session.call("shell", {"command": command})
            except askfirst.ToolFailed as error:
                assert error.result["exit_code"] != 0
            else:
                assert isinstance(got, askfirst.Denied), got
        # The sandbox has its own /tmp.
        session.call("shell", {"command": f"mkdir -p {tmp_path}/home; touch {tmp_path}/home/made"})
        assert not (tmp_path / "home" / "made").exists()
    records = (pathlib.Path(os.environ["XDG_STATE_HOME"]) / "askfirst" / "ledger.jsonl").read_text()
    assert '"tier":"full"' in records


def test_programs_do_not_block_event_loop(config, asked):
    skip_without_sandbox()

    async def main():
        ticks = 0
        with askfirst.session(config, approval_callback=asked(), ledger=False) as session:
            running = asyncio.ensure_future(session.call_async("shell", {"command": "sleep 0.5; echo over"}))
            while not running.done():
                ticks += 1
                await asyncio.sleep(0.01)
            return ticks, await running

    ticks, got = asyncio.run(main())
    assert got["stdout"] == "over\n"
    assert ticks > 3


def test_swapped_sandbox_helper_is_not_used(tmp_path, config, python):
    """Another program under the helper's name cannot build the sandbox, so nothing starts."""
    copy = tmp_path / "copy" / "askfirst"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with open(copy / "askfirst", "ab") as file:
        file.write(b"\n")
    text = f"""
import sys
sys.path.insert(0, {str(copy.parent)!r})
import askfirst
assert askfirst.__file__.startswith({str(copy)!r})
print(askfirst._askfirst.sandbox_tier(askfirst._askfirst.__file__)[0])
try:
    askfirst.session({str(config)!r}, ledger=False)
except RuntimeError as error:
    print(error)
"""
    assert python(text) == "None\nthe config requires a sandbox, and none works here"


def test_config_tools_are_judged_in_python(config, asked, no):
    skip_without_sandbox()
    with askfirst.session(config, approval_callback=asked(no(note="not now")), ledger=False) as session:
        assert session.call("shell", {"command": "make"}).note == "not now"
        denied = session.call("read_file", {"path": ".env"})
        assert denied.cause == "policy"
        with pytest.raises(LookupError):
            session.call("nothing")
    with pytest.raises(ValueError, match="another name"):
        askfirst.session(config, ledger=False, tools={"shell": print})


def test_leaving_session_ends_running_programs(config, asked):
    skip_without_sandbox()

    async def main():
        with askfirst.session(config, approval_callback=asked(), ledger=False) as session:
            running = asyncio.ensure_future(session.call_async("shell", {"command": "sleep 600"}))
            await asyncio.sleep(1)
        with pytest.raises(askfirst.ToolFailed):
            await asyncio.wait_for(running, 30)

    asyncio.run(main())
