"""The relative's own test suites, run against the compatibility modules with the import swapped.

The source packages are fetched from the package index into ``target/``; nothing of them is kept in this repository.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

DIFFERENCES: dict[str, dict[str, str]] = {"0.9.0": {}, "0.8.0": {}}
"""Tests of theirs that do not pass here, each with the reason. Empty: all of them pass."""

TESTS = {"0.9.0": 36, "0.8.0": 60}
"""How many tests each suite has: fewer would mean that they were not found."""

MODULES = {"0.9.0": "askfirst.compat", "0.8.0": "askfirst.compat_080"}
THEIRS = "pydantic_ai_blocking_approval"


def root() -> Path:
    here = Path(__file__).resolve()
    return next(folder for folder in here.parents if (folder / "Cargo.toml").exists() and (folder / "crates").is_dir())


def fetched(version: str) -> Path:
    """The relative's source package, downloaded once."""
    folder = root() / "target" / "relatives"
    archive = folder / f"{THEIRS}-{version}.tar.gz"
    if not archive.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
        wanted = f"{THEIRS.replace('_', '-')}=={version}"
        subprocess.run([*command, "--no-binary", wanted.split("==")[0], wanted, "--dest", str(folder)], check=True)
    return archive


@pytest.mark.parametrize("version", MODULES)
def test_the_relatives_suite_passes_with_the_import_swapped(version: str, tmp_path: Path) -> None:
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
