# SPDX-License-Identifier: GPL-2.0
"""What the tests say of themselves: lists of ids behind a word in the comments above them, as Documentation/testing.rst has it.

sources(word) yields each test with its ids. The pages that are made of them: mkconformance ("Proves"), mkbugcases ("Bug").
Complaints are collected, and make the status of a generator 1: a list that belongs to no test, a test that nothing runs.
"""

import glob
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

complaints = []


def complain(text):
    complaints.append(text)


def path(*parts):
    return os.path.join(TOP, *parts)


def read(*parts):
    with open(path(*parts)) as source:
        return source.read()


def table(name):
    """The lines of a file of pairs: id, tab, text."""
    for number, line in enumerate(read("Documentation", name).splitlines(), 1):
        if line and not line.startswith("#"):
            key, tab, text = line.partition("\t")
            if not tab or not text:
                complain(f"{name}:{number}: not an id, a tab and a text")
            yield key, text


# --- annotations -----------------------------------------------------------

def ids_of(word, comment):
    """The ids in a comment without its marks: "Proves: A, B," goes on in the next line, "Proves: A, B" and "Proves: A." end."""
    for found in re.finditer(rf"(?:^|[ \t]){word}:((?:[^\n]*,[ \t]*\n)*[^\n]*)", comment, re.M):
        yield from (one for one in re.split(r"[,\s]+", found.group(1).strip().rstrip(".")) if one)


def stripped(lines):
    """Comment lines without the marks of C, Rust or the shell."""
    return "\n".join(re.sub(r"^\s*(?:/\*+|\*+/|\*+|//[/!]?|#)?\s?", "", line).replace("*/", "") for line in lines)


class File:
    """A source, and which of its annotations with a word were taken by a test."""

    def __init__(self, name, word):
        self.name = name
        self.word = word
        self.lines = read(name).splitlines()
        self.left = {at for at, line in enumerate(self.lines) if re.search(rf"(?:^\s*\*|/\*|//|^#).*\b{word}:", line)}

    def above(self, at, comment):
        """The ids in the comments directly above a line, where `comment` says what belongs to one."""
        start = at
        while start and comment(self.lines, start - 1):
            start -= 1
        self.left -= set(range(start, at))
        return list(ids_of(self.word, stripped(self.lines[start:at])))

    def behind(self, at):
        """The ids in a comment at the end of a line of C."""
        found = re.search(rf"/\*(.*\b{self.word}:.*?)\*/", self.lines[at])
        self.left.discard(at)
        return list(ids_of(self.word, found.group(1))) if found else []

    def done(self):
        for at in sorted(self.left):
            complain(f"{self.name}:{at + 1}: this annotation stands above no test")


def in_c_comment(lines, at):
    """Whether a line is part of a comment that has its lines for itself."""
    return bool(re.match(r"\s*(/\*|\*/|\* |\*$)", lines[at])) and (
        lines[at].rstrip().endswith("*/") or bool(re.match(r"\s*(/\*|\* |\*$)", lines[at])))


def in_rust_head(lines, at):
    return bool(re.match(r"\s*(//|#\[)", lines[at]))


# --- kernel-side cases -----------------------------------------------------

GROUP_DIRS = "selftests/modules"


def run_groups():
    """The groups that selftests run, whole or a case of them."""
    groups = set()
    for name in glob.glob(path("selftests", "*.sh")):
        for line in open(name):
            line = line.strip()
            words = re.match(r"(?:ndk_test_main|ndk_test_cases|stress_main)\s+(.*)", line)
            if words and not line.endswith("{"):
                groups.update(re.findall(r"(?<![\w-])([a-z_]+)(?!\w)", re.sub(r"-t\s+\w+", "", words.group(1))))
    return groups


def entries(text):
    """(offset, name, function) of each entry of the t_case tables in a C file; macros that make entries are followed."""
    macros = {}
    for found in re.finditer(r"^#define (\w+)\(([^)]*)\)((?:[^\n]*\\\n)*[^\n]*)", text, re.M):
        entry = re.search(r"\{\s*([^,]+?),\s*(\w+)", found.group(3))
        if entry:
            macros[found.group(1)] = ([word.strip() for word in found.group(2).split(",")], entry.groups())
    for body in re.finditer(r"^static const struct t_case \w+\[\] = \{\n(.*?)^\};", text, re.M | re.S):
        for found in re.finditer(r"^\t(?:\{\s*\"([^\"]*)\",\s*(\w+)|(\w+)\(([^)]*)\))", body.group(1), re.M):
            at = body.start(1) + found.start()
            if found.group(1):
                yield at, found.group(1), found.group(2)
                continue
            params, (name, function) = macros.get(found.group(3), ([], ("", "")))
            values = dict(zip(params, (word.strip() for word in found.group(4).split(","))))
            name = "".join(values.get(word, word).strip('"') for word in re.findall(r'"[^"]*"|#?\w+', name.replace("#", "")))
            yield at, name, values.get(function, function)


def c_tests(word):
    """(test, ids) of each case of the kernel modules."""
    running = run_groups()
    count = 0
    for name in sorted(glob.glob(path(GROUP_DIRS, "*", "case_*.c"))):
        file = File(os.path.relpath(name, TOP), word)
        text = "\n".join(file.lines) + "\n"
        declared = re.search(r"^T_GROUP\((\w+),", text, re.M)
        group = declared.group(1) if declared else None
        cases = list(entries(text))
        count += len(cases)
        proves = {}
        for at, line in enumerate(file.lines):
            found = re.match(r"static void (\w+)\(struct t \*t\)", line)
            if found:
                proves[found.group(1)] = file.above(at, in_c_comment)
        listed = {function for _, _, function in cases}
        for function, ids in proves.items():
            if ids and function not in listed:
                complain(f"{file.name}: {function}() proves something, but is no case")
        for offset, case, function in cases:
            at = text.count("\n", 0, offset)
            ids = proves.get(function, []) + file.above(at, in_c_comment) + file.behind(at)
            if ids and group not in running:
                complain(f"{file.name}: no selftest runs the group {group}")
            yield f"{group}/{case}", ids
        file.done()
    yield count, None


CONSUMER = "selftests/modules/ndkpi_consumer"
CONSUMER_TEST = "ndkpi-header.sh"


def consumer_tests(word):
    """(test, ids) of each case of the consumer by Windows names, and the number of them."""
    running = set(re.findall(r"\w+", read("selftests", CONSUMER_TEST)))
    count = 0
    for name in sorted(glob.glob(path(CONSUMER, "*.c"))):
        file = File(os.path.relpath(name, TOP), word)
        for at, line in enumerate(file.lines):
            found = re.match(r"void case_(\w+)\(void\)$", line)
            if found:
                count += 1
                if found.group(1).removesuffix("_end") not in running:
                    complain(f"{file.name}: {CONSUMER_TEST} does not run the case {found.group(1)}")
                yield f"ndkpi_consumer/{found.group(1).removesuffix('_end')}", file.above(at, in_c_comment)
        file.done()
    yield count, None


# --- Rust and the shell ----------------------------------------------------

def rust_tests(word):
    for pattern, kind in (("rust/state/tests/**/*.rs", "state"), ("rust/state/src/**/*.rs", "state"),
                          ("rust/ndk/**/*.rs", "kunit")):
        for name in sorted(glob.glob(path(pattern), recursive=True)):
            file = File(os.path.relpath(name, TOP), word)
            suite = os.path.basename(name).removesuffix(".rs")
            for at, line in enumerate(file.lines):
                declared = re.search(r"kunit_tests\((\w+)\)", line)
                if declared:
                    suite = declared.group(1)
                found = re.match(r"\s*(?:pub )?fn (\w+)\(", line)
                if not found:
                    continue
                head = at
                while head and in_rust_head(file.lines, head - 1):
                    head -= 1
                if any(re.match(r"\s*#\[test\]", text) for text in file.lines[head:at]):
                    yield f"{kind}: {suite}::{found.group(1)}", file.above(at, in_rust_head)
            file.done()


def shell_tests(word):
    for name in sorted(glob.glob(path("selftests", "*.sh"))):
        file = File(os.path.relpath(name, TOP), word)
        end = next((at for at, line in enumerate(file.lines) if not line.startswith("#")), len(file.lines))
        yield os.path.basename(name), file.above(end, lambda lines, at: lines[at].startswith("#"))
        file.done()


def sources(word):
    """(test, ids) of every test; and the number of kernel-side cases, with None."""
    for source in (c_tests(word), consumer_tests(word), rust_tests(word), shell_tests(word)):
        yield from source


# --- what both pages have --------------------------------------------------

def heading(text, underline):
    return [text, underline * len(text), ""]


def lines_of(tests):
    return [f"  | {name}" for name in tests]


def end(page):
    """The page to stdout, the complaints to stderr."""
    print(page.rstrip())
    for text in complaints:
        print(text, file=sys.stderr)
    sys.exit(bool(complaints))
