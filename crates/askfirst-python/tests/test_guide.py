"""The snippets of the guide's Python page run, each by itself."""

import pathlib
import re

import pytest

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "guide" / "python.md"
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=[snippet.strip().splitlines()[0] for snippet in SNIPPETS])
def test_the_snippet_runs(snippet, python):
    python(snippet)


def test_there_are_snippets():
    assert len(SNIPPETS) >= 5
