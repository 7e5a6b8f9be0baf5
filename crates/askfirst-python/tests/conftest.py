"""Fixtures of all tests: an empty home, and callbacks that count requests."""

import os
import sys

import pytest

import askfirst


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Keeps the user's config and audit log out of the tests."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(folder))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return folder


class Asked:
    """A callback that answers and keeps its requests."""

    def __init__(self, *answers):
        self.answers = list(answers) or [askfirst.ApprovalDecision(approved=True)]
        self.requests = []

    def __call__(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer(request) if callable(answer) else answer

    @property
    def times(self):
        return len(self.requests)


@pytest.fixture
def asked():
    return Asked


def yes(**fields):
    return askfirst.ApprovalDecision(approved=True, **fields)


def no(**fields):
    return askfirst.ApprovalDecision(approved=False, **fields)


@pytest.fixture(name="yes")
def _yes():
    return yes


@pytest.fixture(name="no")
def _no():
    return no


@pytest.fixture
def python():
    """Runs a program in a new interpreter, and returns its output."""
    import subprocess

    def run(text, *, timeout=60, **more):
        done = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, timeout=timeout, env={**os.environ}, **more
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run
