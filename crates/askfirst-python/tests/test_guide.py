"""Runs each Python snippet of the README and of the guide's Python page on its own."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[3]
TEXT = "".join((ROOT / page).read_text() for page in ("README.md", "docs/guide/python.md"))
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=[snippet.strip().splitlines()[0] for snippet in SNIPPETS])
def test_snippet_runs(snippet, python):
    python(snippet)


def test_guide_has_snippets():
    assert len(SNIPPETS) >= 5
