"""A project in a scratch folder, with a home and a state folder of its own."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# A command that takes longer than this hangs.
PATIENCE = 300
# As with Enter at every question of `init`.
CONFIG = """version: 1
sandbox:
  paths:
    project: {{ root: {root}, mode: rw, approval: {{ read: none, write: none }}, products: {products} }}
shell:
  default: {{ approval: rehearse }}
  network: required
  known_read_only: none
  rules:
    - {{ pattern: sudo, approval: deny }}
    - {{ pattern: git push, approval: required }}
"""
# The report of git about a repository, without times and hashes of commits.
GIT_STATE = [
    ["ls-files", "-s"],
    ["status", "--porcelain"],
    ["log", "--all", "--format=%T %s %D"],
    ["stash", "list", "--format=%gs"],
    ["fsck", "--no-dangling", "--no-progress"],
]
# Caches of programs that no command reads.
CACHES = {"__pycache__"}


class Place:
    """A scratch folder with a project, a home and a state folder."""

    def __init__(self, name, folder, files, products):
        self.files, self.products = files, products
        self.folder, self.root, self.home = folder, folder / name, folder / "home"
        self.config = folder / "askfirst.yaml"
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.home / ".local/state"),
            "LANG": "C.UTF-8",
            # A refreshed index would be a change after the command, and `undo` would refuse.
            "GIT_OPTIONAL_LOCKS": "0",
        }
        # The toolchains themselves, because version managers look for their settings in the home.
        for query in [["rustc", "--print", "sysroot"], ["python3", "-c", "import sys; print(sys.base_prefix)"]]:
            found = subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
            if found:
                self.env["PATH"] = f"{found}/bin:{self.env['PATH']}"

    def make(self):
        for folder in [self.root, self.home]:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        for name, text in self.files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if text.startswith("#!"):
                path.chmod(0o755)
        self.git("init", "-q", "-b", "main")
        for key, value in {"user.name": "A", "user.email": "a@example.com", "gc.auto": "0"}.items():
            self.git("config", key, value)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "Begin")

    def git(self, *args):
        done = subprocess.run(
            ["git", *args], cwd=self.root, env=self.env, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    def direct(self, command):
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-c", command],
            cwd=self.root, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
        )  # fmt: skip
        return done.returncode

    def askfirst(self, binary, *args, text=""):
        return subprocess.run(
            [binary, *args], input=text,
            cwd=self.root, env=self.env, capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip

    def tree(self):
        """Every path outside of `.git` and the products, with its mode and content."""
        found = {}
        for folder, folders, names in os.walk(self.root):
            for name in list(folders):
                path = Path(folder, name)
                relative = str(path.relative_to(self.root))
                if relative in [".git", *self.products] or name in CACHES:
                    folders.remove(name)
                found[relative] = "cache" if name in CACHES else f"folder {path.lstat().st_mode & 0o7777:o}"
                if path.is_symlink():
                    found[relative] = f"link {os.readlink(path)}"
            for name in names:
                path = Path(folder, name)
                mode = f"{path.lstat().st_mode:o}"
                content = os.readlink(path) if path.is_symlink() else path.read_bytes()
                found[str(path.relative_to(self.root))] = f"file {mode} {content!r}"
        for product in self.products:
            path = self.root / product
            # Names with hashes are different in each build.
            names = sorted(p.name for p in path.iterdir()) if path.is_dir() else None
            found[f"{product}/*"] = str(names)
        for args in GIT_STATE:
            found["git " + " ".join(args)] = self.git(*args)
        return {path: value for path, value in found.items() if value != "cache"}


def the_binary():
    if os.environ.get("ASKFIRST"):
        return str(Path(os.environ["ASKFIRST"]).resolve())
    subprocess.run(["cargo", "build", "--quiet", "--locked", "-p", "askfirst-cli"], cwd=ROOT, check=True)
    return str(Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/askfirst")
