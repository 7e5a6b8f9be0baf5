"""Runs the test suites of ``pydantic-ai-blocking-approval`` against the compatibility modules.

The tests download its source packages into ``target/``.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

DIFFERENCES: dict[str, dict[str, str]] = {"0.9.0": {}, "0.8.0": {}}
"""The tests that fail here, each with the reason."""

TESTS = {"0.9.0": 36, "0.8.0": 60}
"""The number of tests in each suite."""

MODULES = {"0.9.0": "askfirst.compat", "0.8.0": "askfirst.compat_080"}
THEIRS = "pydantic_ai_blocking_approval"


def root() -> Path:
    here = Path(__file__).resolve()
    return next(folder for folder in here.parents if (folder / "Cargo.toml").exists() and (folder / "crates").is_dir())


def fetched(version: str) -> Path:
    """Return the source package, downloaded once."""
    folder = root() / "target" / "relatives"
    archive = folder / f"{THEIRS}-{version}.tar.gz"
    if not archive.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
        wanted = f"{THEIRS.replace('_', '-')}=={version}"
        subprocess.run([*command, "--no-binary", wanted.split("==")[0], wanted, "--dest", str(folder)], check=True)
    return archive


@pytest.mark.parametrize("version", MODULES)
def test_original_suite_passes_with_changed_import(version: str, tmp_path: Path) -> None:
    with tarfile.open(fetched(version)) as archive:
        wanted = [each for each in archive.getmembers() if each.isfile() and Path(each.name).suffix == ".py"]
        for member in wanted:
            path = Path(*Path(member.name).parts[1:])
            if path.parts[0] in ("tests", "example"):
                source = archive.extractfile(member)
                assert source is not None
                target = tmp_path / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(source.read().decode().replace(THEIRS, MODULES[version]))
    skipped = [f"--deselect={name}" for name in DIFFERENCES[version]]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", *skipped]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=170)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert f"{TESTS[version] - len(skipped)} passed" in done.stdout, done.stdout[-1000:]
