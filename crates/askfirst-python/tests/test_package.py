"""The package: its import, its public names and its docstring examples."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import askfirst

FRAMEWORKS = ("pydantic", "pydantic_ai", "langchain", "langchain_core", "langgraph", "asyncio", "dataclasses", "json")


def test_import_loads_no_framework(python):
    text = f"""
import sys
before = set(sys.modules)
import askfirst
print(sorted((set(sys.modules) - before) & set({FRAMEWORKS!r})))
"""
    assert python(text) == "[]"
    assert python("from askfirst import *\nimport sys\nprint('pydantic_ai' in sys.modules, guard.__name__)") == "False guard"


def test_every_public_name_exists():
    for name in askfirst.__all__:
        assert getattr(askfirst, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        askfirst.nonsense  # noqa: B018
    assert "ApprovalToolset" in dir(askfirst)


def modules():
    for found in pkgutil.iter_modules(askfirst.__path__):
        if found.name.startswith("_") and found.name not in ("__main__", "_askfirst"):
            yield f"askfirst.{found.name}"
    yield "askfirst"


@pytest.mark.parametrize("name", list(modules()))
def test_docstring_examples_run(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_docstrings_have_examples():
    finder = doctest.DocTestFinder()
    count = sum(len(test.examples) for name in modules() for test in finder.find(importlib.import_module(name)))
    assert count > 30


def test_import_time_is_printed(capsys):
    """Prints the time for information. No test has a time limit."""
    text = "import time; a = time.perf_counter(); import askfirst; print(time.perf_counter() - a)"
    times = [float(subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    with capsys.disabled():
        print(f" import askfirst: {min(times) * 1000:.1f} ms", end="")
    assert len(times) == 5
