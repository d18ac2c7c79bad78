#!/usr/bin/env python3
"""Counts lines of Rust by crate and folder: product code and tests. Blank lines and comments are neither.

    scripts/count-lines.py [DIR]    # a checkout; without DIR, the one that this script is in

Product code is what a released binary is made of: `crates/*/src` without what only tests compile. Tests are `crates/*/tests`, the items
under `#[cfg(test)]` and the modules under `#[cfg(any(test, feature = …))]`: conformance suite, simulated disk, fuzzing. Benchmarks, examples
and fuzz targets are counted apart.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

# A string or a character is kept, a comment is not. Block comments do not nest here.
TOKEN = re.compile(
    r"""(?P<keep>b?r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"|b?'(?:\\[^\n]*?|[^\\'\n])')"""
    r"""|//[^\n]*|/\*.*?\*/""",
    re.DOTALL,
)
ATTRIBUTE = re.compile(r"#\[cfg\((?:any\()?test\b[^\]]*\)\]")
MODULE = re.compile(r"\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;")
CLOSING = {"(": ")", "[": "]", "{": "}"}


def without_comments(text):
    """The source without comments, line by line as before."""
    return TOKEN.sub(lambda m: m["keep"] or "\n" * m[0].count("\n"), text)


def without_strings(text):
    """The same length and lines, with nothing in strings that looks like code."""
    return TOKEN.sub(lambda m: re.sub(r"[^\n]", "_", m[0]), text)


def end_of_item(code, start):
    """Where the item, field, statement or match arm ends that begins at `start`."""
    depth = 0
    for index in range(start, len(code)):
        char = code[index]
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth < 0:
                return index
            # An attribute ends nothing, nor does the list of a function's parameters.
            if depth == 0 and char == "}":
                return index + 1
        elif char in ";," and depth == 0:
            return index + 1
    return len(code)


def lines(text):
    return sum(1 for line in text.split("\n") if line.strip())


def split(text):
    """Lines of product code and of tests in a source file, and the modules in other files that are tests."""
    text = without_comments(text)
    code = without_strings(text)
    product, tests, modules, at = [], [], [], 0
    for attribute in ATTRIBUTE.finditer(code):
        if attribute.start() < at:
            continue
        module = MODULE.match(code, attribute.end())
        end = module.end() if module else end_of_item(code, attribute.end())
        if module:
            modules.append(module[1])
        product.append(text[at : attribute.start()])
        tests.append(text[attribute.start() : end])
        at = end
    product.append(text[at:])
    return sum(map(lines, product)), sum(map(lines, tests)), modules


def count(sources):
    """Lines of product code and of tests by file, for the files under `src` of a crate."""
    counted, test_modules = {}, set()
    for file in sources:
        product, tests, modules = split(file.read_text())
        counted[file] = (product, tests)
        folder = file.parent if file.stem in ("mod", "lib", "main") else file.with_suffix("")
        test_modules.update(folder / module for module in modules)
    for file, (product, tests) in counted.items():
        if any(file.with_suffix("") == module or module in file.parents for module in test_modules):
            counted[file] = (0, product + tests)
    return counted


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    table, files = defaultdict(lambda: [0, 0, 0]), defaultdict(int)
    for crate in sorted(path.parent for path in root.glob("crates/*/Cargo.toml")):
        for file, (product, tests) in count(sorted(crate.glob("src/**/*.rs"))).items():
            folder = file.parent.relative_to(root)
            for row in (folder, crate.relative_to(root)):
                table[row] = [a + b for a, b in zip(table[row], (1, product, tests))]
        for file in sorted(crate.glob("tests/**/*.rs")):
            for row in (crate.relative_to(root) / "tests", crate.relative_to(root)):
                table[row] = [a + b for a, b in zip(table[row], (1, 0, split(file.read_text())[0]))]
    print(f"{'':44}{'files':>7}{'product':>9}{'tests':>9}")
    for row, (number, product, tests) in sorted(table.items()):
        indent = "  " * (len(row.parts) - 2)
        print(f"{indent + str(row):44}{number:7}{product:9,}{tests:9,}")
    crates = [value for row, value in table.items() if len(row.parts) == 2]
    number, product, tests = map(sum, zip(*crates))
    print(f"{'all crates':44}{number:7}{product:9,}{tests:9,}")
    for folder in ("bench", "examples", "fuzz"):
        sources = sorted((root / folder).glob("**/*.rs"))
        other = sum(sum(split(file.read_text())[:2]) for file in sources if "target" not in file.parts)
        print(f"{folder + ', not in the sum':44}{len(sources):7}{other:9,}")


if __name__ == "__main__":
    main()
