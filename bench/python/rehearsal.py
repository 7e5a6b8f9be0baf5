"""Measure commands that are rehearsed: run on a view, with their changes collected, decided about and committed.

    python rehearsal.py ASKFIRST [--rounds N]

Each command runs in a copy of a scratch project: directly with bash, in bubblewrap (if `bwrap` is on PATH), and through
one session of `askfirst run`, in turn. A row shows the median time of a direct run, and the others as a multiple of it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

CONFIG = """
version: 1
sandbox:
  paths:
    project: { root: ., mode: rw, approval: { read: none, write: none }, products: [obj] }
shell:
  default: { approval: rehearse }
  known_read_only: none
"""

# The name of the row, the command, and how often a round runs it.
COMMANDS = [
    ("start `true`", "true", 20),
    ("python, 20 tests", "python3 -m unittest -q tests.test_all", 3),
    ("make, 13 C files", "touch src/*.c && make -s", 2),
    ("find 20,000 files", "find tree -type f > /dev/null", 2),
    ("read 20,000 files", "cat tree/*/* > /dev/null", 2),
    ("append to 1,000 files", "for f in tree/d0/*; do echo x >> $f; done", 1),
    ("sed -i on 1,000 files", "sed -i s/x/y/ tree/d1/*", 1),
    ("add 1,000 files", "mkdir -p new && for i in $(seq 1000); do echo $i > new/$i; done", 1),
    ("remove 19,000 files", "rm -rf tree/d[1-9] tree/d1[0-9]", 1),
]


def make_project(folder: Path) -> None:
    (folder / "src").mkdir(parents=True)
    for number in range(13):
        (folder / f"src/f{number}.c").write_text(f"int f{number}(int x) {{ return x + {number}; }}\n" * 1)
    (folder / "src/main.c").write_text("int main(void) { return 0; }\n")
    rule = "OBJ := $(patsubst src/%.c,obj/%.o,$(wildcard src/*.c))\nobj/program: $(OBJ)\n\tcc -o $@ $^\n"
    rule += "obj/%.o: src/%.c\n\t@mkdir -p obj\n\tcc -c -o $@ $<\n"
    (folder / "Makefile").write_text(rule)
    tests = folder / "tests"
    tests.mkdir()
    (tests / "__init__.py").write_text("")
    body = "".join(f"    def test_{n}(self):\n        self.assertEqual({n}, {n})\n" for n in range(20))
    (tests / "test_all.py").write_text(f"import unittest\n\n\nclass All(unittest.TestCase):\n{body}")
    for number in range(20):
        part = folder / f"tree/d{number}"
        part.mkdir(parents=True)
        for file in range(1000):
            (part / f"f{file}").write_text(f"x {number} {file}\n" * 4)
    (folder / "askfirst.yaml").write_text(CONFIG)


class Askfirst:
    """One session, which gets one command after the other."""

    def __init__(self, program: str, project: Path, state: Path) -> None:
        words = [program, "--config", "askfirst.yaml", "--json", "run", "-"]
        env = dict(os.environ, XDG_STATE_HOME=str(state), XDG_CONFIG_HOME=str(state))
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(words, cwd=project, env=env, stdin=pipe, stdout=pipe, text=True)

    def run(self, command: str) -> None:
        assert self.child.stdin and self.child.stdout
        self.child.stdin.write(json.dumps({"tool": "shell", "args": {"command": command}}) + "\n")
        self.child.stdin.flush()
        answer = json.loads(self.child.stdout.readline())
        if answer["outcome"] != "done":
            sys.exit(f"{command}: {answer}")

    def end(self) -> None:
        assert self.child.stdin
        self.child.stdin.close()
        self.child.wait()


def direct(project: Path, command: str) -> None:
    subprocess.run(["bash", "--noprofile", "--norc", "-c", command], cwd=project, check=True)


def bubblewrap(project: Path, command: str) -> None:
    limits = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
    limits += ["--tmpfs", "/tmp", "--bind", str(project), str(project), "--chdir", str(project)]
    subprocess.run([*limits, "bash", "--noprofile", "--norc", "-c", command], check=True)


def timed(times: int, run: Callable[[], None]) -> float:
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("askfirst")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    program = str(Path(options.askfirst).resolve())
    ways = ["direct", "askfirst"] + (["bwrap"] if shutil.which("bwrap") else [])
    times: dict[tuple[str, str], list[float]] = {}
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory(prefix="rehearsal", dir=Path.home()) as held:
            place = Path(held)
            make_project(place / "direct")
            for way in ways[1:]:
                shutil.copytree(place / "direct", place / way)
            session = Askfirst(program, place / "askfirst", place / "state")
            session.run("true")
            run = {
                "direct": lambda command: direct(place / "direct", command),
                "askfirst": lambda command: session.run(command),
                "bwrap": lambda command: bubblewrap(place / "bwrap", command),
            }
            for what, command, often in COMMANDS:
                for way in ways:
                    took = timed(often, lambda way=way, command=command: run[way](command))  # type: ignore[misc]
                    times.setdefault((what, way), []).append(took)
            session.end()
    print("| command | direct | bubblewrap, × | rehearsed and committed, × |\n|---|---|---|---|")
    for what, _, _ in COMMANDS:
        median = {way: statistics.median(times[what, way]) for way in ways}
        bwrap = f"{median['bwrap'] / median['direct']:.2f}" if "bwrap" in median else "–"
        rehearsed = median["askfirst"] / median["direct"]
        print(f"| {what} | {median['direct'] * 1000:.1f} ms | {bwrap} | {rehearsed:.2f} |")


if __name__ == "__main__":
    main()
