"""The four projects of `day`: for each, the files, the products and the programs that it needs."""

NODE = {
    "package.json": """{
  "name": "shelf",
  "version": "1.0.0",
  "type": "module",
  "scripts": {
    "build": "node scripts/build.js",
    "clean": "rm -rf dist",
    "rebuild": "rm -rf dist && node scripts/build.js",
    "lint": "node scripts/lint.js",
    "start": "node src/main.js",
    "test": "node --test"
  }
}
""",
    "src/main.js": """import { total } from "./cart.js";
import { price } from "./price.js";

console.log(price(total([{ cents: 250, count: 2 }, { cents: 99, count: 1 }])));
""",
    "src/cart.js": """export function total(items) {
  return items.reduce((sum, item) => sum + item.cents * item.count, 0);
}
""",
    "src/price.js": """export function price(cents) {
  return `${(cents / 100).toFixed(2)} EUR`;
}
""",
    "test/cart.test.js": """import assert from "node:assert/strict";
import test from "node:test";
import { total } from "../src/cart.js";

test("an empty cart costs nothing", () => assert.equal(total([]), 0));
test("counts are multiplied", () => assert.equal(total([{ cents: 5, count: 3 }]), 15));
""",
    "scripts/build.js": """import fs from "node:fs";

fs.mkdirSync("dist", { recursive: true });
for (const name of fs.readdirSync("src")) {
  const text = fs.readFileSync(`src/${name}`, "utf8");
  fs.writeFileSync(`dist/${name}`, text.replaceAll("  ", " "));
}
fs.writeFileSync("dist/index.html", "<script src=main.js></script>\\n");
""",
    "scripts/lint.js": """import fs from "node:fs";

const bad = fs.readdirSync("src").filter((name) => fs.readFileSync(`src/${name}`, "utf8").includes("\\t"));
process.exitCode = bad.length;
""",
    "README.md": "# shelf\n\nA small shop.\n",
    ".gitignore": "dist/\nnode_modules/\n*.log\n",
}

PYTHON = {
    "pyproject.toml": '[project]\nname = "ledgerly"\nversion = "0.1.0"\n',
    "ledgerly/__init__.py": "",
    "ledgerly/__main__.py": """import sys

from ledgerly.books import balance, parse

print(balance(parse(sys.stdin.read())))
""",
    "ledgerly/books.py": """def parse(text):
    rows = []
    for line in text.splitlines():
        name, _, amount = line.partition(",")
        rows.append((name.strip(), int(amount or 0)))
    return rows


def balance(rows):
    return sum(amount for _, amount in rows)
""",
    "ledgerly/dates.py": """def is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
""",
    "tests/__init__.py": "",
    "tests/test_books.py": """import unittest

from ledgerly.books import balance, parse


class Books(unittest.TestCase):
    def test_balance(self):
        self.assertEqual(balance(parse("a, 1\\nb, 2")), 3)

    def test_empty(self):
        self.assertEqual(balance(parse("")), 0)
""",
    "data/march.csv": "rent, -900\nwages, 2400\nfood, -310\n",
    "tools/report.py": """import pathlib

lines = pathlib.Path("data/march.csv").read_text().splitlines()
pathlib.Path("build").mkdir(exist_ok=True)
pathlib.Path("build/report.txt").write_text("\\n".join(sorted(lines)) + "\\n")
print(len(lines), "rows")
""",
    "README.md": "# ledgerly\n\nKeeps books.\n",
    ".gitignore": "__pycache__/\n*.pyc\nbuild/\n.venv/\n",
}

RUST = {
    "Cargo.toml": '[package]\nname = "tally"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/main.rs": """use tally::count;

fn main() {
    let words = count("the cat and the dog");
    println!("{}", words["the"]);
}
""",
    "src/lib.rs": """//! Counts words.

use std::collections::BTreeMap;

pub mod text;

pub fn count(line: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for word in text::words(line) {
        *found.entry(word).or_insert(0) += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_counted() {
        assert_eq!(super::count("a b a")["a"], 2);
    }
}
""",
    "src/text.rs": """pub fn words(line: &str) -> impl Iterator<Item = String> + '_ {
    line.split_whitespace().map(str::to_lowercase)
}
""",
    "README.md": "# tally\n\nCounts words.\n",
    ".gitignore": "/target\n",
}

C = {
    "Makefile": """CC = gcc
CFLAGS = -O0 -Wall
OBJS = build/main.o build/list.o

build/app: $(OBJS)
\t$(CC) -o $@ $(OBJS)

build/%.o: src/%.c src/list.h
\t@mkdir -p build
\t$(CC) $(CFLAGS) -c -o $@ $<

.PHONY: test clean run
test: build/app
\ttest "$$(./build/app 3)" = 6
run: build/app
\t./build/app 4
clean:
\trm -rf build
""",
    "src/main.c": """#include <stdio.h>
#include <stdlib.h>
#include "list.h"

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0;
    printf("%d\\n", sum_to(n));
    return 0;
}
""",
    "src/list.c": """#include "list.h"

int sum_to(int n) {
    int sum = 0;
    for (int i = 1; i <= n; i++) sum += i;
    return sum;
}
""",
    "src/list.h": "int sum_to(int n);\n",
    "docs/notes.txt": "first\nsecond\nthird\n",
    "README.md": "# sums\n",
    ".gitignore": "build/\n*.o\n",
}

PROJECTS = {
    "node": (NODE, ["dist"], ["node", "npm"]),
    "python": (PYTHON, ["build"], ["python3"]),
    "rust": (RUST, ["target"], ["cargo"]),
    "c": (C, ["build"], ["gcc", "make"]),
}
