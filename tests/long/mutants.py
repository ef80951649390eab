"""Tests the mutants that cargo-mutants lists, with one build for all of them.

Usage: mutants.py [--list] OUTPUT MINUTES [FILE...]: the folder of all output, the time limit, and the
source files of secrets-core whose mutants are tested. With --list, prints the mutants only.

cargo-mutants builds the tests again for each mutant, which takes about a minute for the tests over
HTTP. This program puts all mutants into one copy of the source code, each behind a condition that is
true if the environment variable MUTANT has its number. It then records which tests reach the place
of which mutant, and runs these tests with the mutant.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

import tree_sitter_rust
from tree_sitter import Language, Parser

PARSER = Parser(Language(tree_sitter_rust.language()))

# Function that the conditions of all mutants call. With MUTANT=0 it appends the numbers of the
# mutants that are reached to a file.
SWITCH = """
#[doc(hidden)]
pub mod mutant {
    use std::io::Write as _;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    static ACTIVE: OnceLock<usize> = OnceLock::new();
    static REACHED: [AtomicBool; 4096] = [const { AtomicBool::new(false) }; 4096];

    pub fn is(number: usize) -> bool {
        let variable = || std::env::var("MUTANT").ok().and_then(|text| text.parse().ok());
        let active = *ACTIVE.get_or_init(|| variable().unwrap_or(usize::MAX));
        if active == 0 && !REACHED[number].swap(true, Ordering::Relaxed) {
            let path = std::env::var("MUTANT_REACHED").unwrap();
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
            writeln!(file.unwrap(), "{number}").unwrap();
        }
        active == number
    }
}
"""

LIBRARY = "secrets-core/src/lib.rs"

# Unit tests and the model of the core, the test vectors, and the tests over HTTP on memory.
TARGETS = ["--lib", "--test", "model", "--test", "vectors", "--test", "http"]
PACKAGES = ["-p", "secrets-core", "-p", "secrets-tests", "--all-features"]

# Limits of the tests that run for one mutant.
MOST_TESTS = 1_000
MOST_SECONDS = 120


class Mutant:
    """Mutant of a file: its number and name, and the bytes of the file that it concerns."""

    def __init__(self, number, listed, source, tree):
        self.number, self.name, self.genre = number, listed["name"], listed["genre"]
        self.file = listed["file"]
        self.replacement = listed["replacement"]
        span = listed["span"]
        self.begin, self.end = (_offset(source, span[edge]) for edge in ("start", "end"))
        node = tree.root_node.descendant_for_byte_range(self.begin, self.end)
        if self.genre in ("BinaryOperator", "UnaryOperator"):
            node = node.parent
        while self.genre == "StructField" and node.type != "struct_expression":
            node = node.parent
        if self.genre == "MatchArm":
            while node.type != "match_arm":
                node = node.parent
            node = node.child_by_field_name("pattern")
        if self.genre in ("FnValue", "MatchArmGuard"):
            self.outer = (self.begin, self.end)
        else:
            self.outer = (node.start_byte, node.end_byte)
        self.text = (source[self.outer[0]:self.begin] + self.replacement.encode()
                     + source[self.end:self.outer[1]]).decode()
        if self.genre == "StructField":
            # The field ends with a comma, which is not in its span.
            rest = source[self.end:self.outer[1]].decode().lstrip().removeprefix(",")
            self.text = source[self.outer[0]:self.begin].decode() + rest


def _offset(source, place):
    lines = source.split(b"\n")
    before = sum(len(line) + 1 for line in lines[:place["line"] - 1])
    return before + len(lines[place["line"] - 1].decode()[:place["column"] - 1].encode())


class File:
    """Source file with its mutants. Writes the file with all mutants that are not excluded."""

    def __init__(self, path, source, mutants):
        self.path, self.source, self.mutants = path, source, mutants
        self.places = []

    def write(self, excluded):
        self.out, self.places = [], []
        self.length = 0
        chosen = [mutant for mutant in self.mutants if mutant.number not in excluded]
        self._render(0, len(self.source), chosen)
        update(self.path, "".join(self.out).encode())

    def _put(self, text):
        self.out.append(text)
        self.length += len(text.encode())

    def _render(self, begin, end, mutants):
        while mutants:
            first = min(mutant.outer[0] for mutant in mutants)
            last = max(mutant.outer[1] for mutant in mutants if mutant.outer[0] == first)
            group = [mutant for mutant in mutants if mutant.outer == (first, last)]
            inner = [mutant for mutant in mutants if mutant not in group and mutant.outer[1] <= last]
            mutants = [mutant for mutant in mutants if mutant not in group and mutant not in inner]
            self._put(self.source[begin:first].decode())
            self._replace(first, last, group, inner)
            begin = last
        self._put(self.source[begin:end].decode())

    def _replace(self, first, last, group, inner):
        by = {genre: [mutant for mutant in group if mutant.genre == genre] for genre in {m.genre for m in group}}
        values, arms = by.pop("FnValue", []), by.pop("MatchArm", [])
        for mutant in values:
            self._place(mutant, f"if crate::mutant::is({mutant.number}) {{ return {mutant.replacement}; }} ")
        others = [mutant for mutants in by.values() for mutant in mutants]
        if others:
            self._put("(")
        for mutant in others:
            self._place(mutant, f"if crate::mutant::is({mutant.number}) {{ {mutant.text} }} else ")
        if others:
            self._put("{ ")
        self._render(first, last, inner)
        if others:
            self._put(" })")
        for mutant in arms:
            self._arm(mutant, first, last)

    def _arm(self, mutant, first, last):
        pattern = self.source[first:last].decode()
        rest, condition = re.fullmatch(r"(.*?)(?:\sif\s(.*))?", pattern, re.DOTALL).groups()
        del self.out[-1:]
        self.length -= len(pattern.encode())
        guard = f"!crate::mutant::is({mutant.number})" + (f" && ({condition})" if condition else "")
        self._place(mutant, f"{rest} if {guard}")

    def _place(self, mutant, text):
        begin = self.length
        self._put(text)
        self.places.append((begin, self.length, mutant.number))

    def around(self, begin, end):
        """Returns the numbers of the mutants whose text contains these bytes."""
        return {number for first, last, number in self.places if first <= begin and end <= last}

    def in_lines(self, first, last):
        """Returns the numbers of the mutants whose text is in these lines, counted from 1."""
        text = "".join(self.out).encode()
        line = lambda place: text.count(b"\n", 0, place) + 1
        return {number for begin, end, number in self.places if line(begin) <= last and first <= line(end)}


def copy(output, instrumented):
    """Copies the files of the repository to a folder, except those that are instrumented. Returns
    the folder."""
    tree = output / "tree"
    names = subprocess.run(["git", "ls-files", "-z"], check=True, stdout=subprocess.PIPE).stdout.decode()
    for name in set(filter(None, names.split("\0"))) - instrumented:
        if not (tree / name).is_symlink():
            update(tree / name, Path(name).read_bytes())
            shutil.copymode(name, tree / name)
    return tree


def update(path, data):
    """Writes a file, as a whole or not at all, if its contents differ, so that cargo compiles only what
    has changed."""
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(path.name + ".new")
        new.write_bytes(data)
        new.replace(path)


def listed(files):
    """Returns the list of mutants of cargo-mutants."""
    tool = Path(os.environ["MUTANTS_TOOL"])
    # Without `Debug`: a mutant that prints nothing reveals no value, so no test detects it. Without the
    # functions for fuzzing, which are tests themselves.
    command = [tool, "mutants", "--package", "secrets-core", "--features", "testing", "--list", "--json",
               "--exclude-re", "impl fmt::Debug", "--exclude", "secrets-core/src/**/fuzz.rs",
               *(f"--file={name}" for name in files)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def instrument(tree, mutants):
    """Writes all mutants into the copy. Returns the files and the mutants."""
    files, result = [], []
    for path in sorted({mutant["file"] for mutant in mutants}):
        source = Path(path).read_bytes()
        parsed = PARSER.parse(source)
        ours = [Mutant(len(result) + number, mutant, source, parsed)
                for number, mutant in enumerate((m for m in mutants if m["file"] == path), 1)]
        result += ours
        files.append(File(tree / path, source, ours))
    update(tree / LIBRARY, (Path(LIBRARY).read_text() + SWITCH).encode())
    return files, result


def compile_all(tree, files, mutants, known):
    """Compiles the copy, and excludes the mutants that do not compile. Returns their numbers. The
    file `known` contains the names of those that an earlier run has found."""
    names = set(json.loads(known.read_text())) if known.exists() else set()
    excluded = {mutant.number for mutant in mutants if mutant.name in names}
    by_path = {str(file.path.relative_to(tree)): file for file in files}
    while True:
        for file in files:
            file.write(excluded)
        command = ["cargo", "check", "-p", "secrets-core", "--all-features", "--message-format=json"]
        output = subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        errors = [message["message"] for line in output.splitlines()
                  if (message := json.loads(line))["reason"] == "compiler-message"
                  and message["message"]["level"] == "error"]
        if not errors:
            return excluded
        found = set().union(*(blamed(error, by_path) for error in errors))
        print(f"{len(errors)} errors, {len(found)} mutants do not compile", flush=True)
        if not found:
            sys.exit("\n".join(error["rendered"] for error in errors))
        excluded |= found
        names |= {mutant.name for mutant in mutants if mutant.number in excluded}
        known.write_text(json.dumps(sorted(names)))


def blamed(error, files):
    """Returns the numbers of the mutants that cause a compiler error: those whose text contains the
    place of the error, or else those in the same lines, or else deleted arms of the file."""
    spans = [span for span in error["spans"] if span["is_primary"] and span["file_name"] in files]
    chosen = set()
    for span in spans:
        chosen |= files[span["file_name"]].around(span["byte_start"], span["byte_end"])
    for span in () if chosen else spans:
        chosen |= files[span["file_name"]].in_lines(span["line_start"], span["line_end"])
    for span in () if chosen else spans:
        chosen |= {mutant.number for mutant in files[span["file_name"]].mutants if mutant.genre == "MatchArm"}
    return chosen


class Test:
    """Test of a program, with the mutants that it reaches and its duration."""

    def __init__(self, program, folder, name):
        self.program, self.folder, self.name = program, folder, name
        self.reached, self.seconds, self.passed = set(), 0.0, False


def tests(tree):
    """Builds the tests in the copy, and returns those that need no database."""
    command = ["cargo", "test", "--no-run", *PACKAGES, *TARGETS, "--message-format=json"]
    output = subprocess.run(command, cwd=tree, check=True, stdout=subprocess.PIPE).stdout
    found = []
    for line in output.splitlines():
        message = json.loads(line)
        program = message.get("executable")
        if not program or not message["profile"]["test"]:
            continue
        folder = Path(message["manifest_path"]).parent
        is_http = message["target"]["name"] == "http"
        names = subprocess.run([program, "--list", "--format=terse"], check=True, stdout=subprocess.PIPE, cwd=folder)
        for name in names.stdout.decode().splitlines():
            name = name.removesuffix(": test")
            if re.search("memory::[^:]*$", name) if is_http else not re.search("postgres|sqlite", name):
                found.append(Test(program, folder, name))
    return found


def record(test, output):
    """Runs a test and records the mutants that it reaches."""
    path = output / "reached" / str(id(test))
    begin = time.monotonic()
    test.passed = run([test], 0, 120, MUTANT_REACHED=str(path))
    test.seconds = time.monotonic() - begin
    if path.exists():
        test.reached = {int(line) for line in path.read_text().split()}
        path.unlink()


def run(chosen, mutant, seconds, **variables):
    """Runs tests of one program with a mutant. Returns whether all of them pass in this time."""
    command = [chosen[0].program, "--exact", "--test-threads=1", *(test.name for test in chosen)]
    environment = os.environ | {"MUTANT": str(mutant)} | variables
    # A group of its own, so that programs which the tests start end with them.
    process = subprocess.Popen(command, cwd=chosen[0].folder, env=environment, start_new_session=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return process.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        return False


def detect(mutant, tests, ours, deadline):
    """Runs the tests that reach a mutant, and first short ones that reach mutants of its file which
    few tests reach. `ours` has the number of tests that reach each mutant of the file. Returns the
    outcome."""
    if time.monotonic() > deadline:
        return "not tested"
    covering = [test for test in tests if mutant.number in test.reached]
    if not covering:
        return "not reached"
    covering.sort(key=lambda test: -sum(1 / ours[number] for number in test.reached & ours.keys()) / test.seconds)
    total, left = 0.0, []
    for test in covering[:MOST_TESTS]:
        total += test.seconds
        if left and total > MOST_SECONDS:
            break
        left.append(test)
    size = 4
    while left:
        batch = [test for test in left[:size] if test.program == left[0].program]
        left = [test for test in left if test not in batch]
        if not run(batch, mutant.number, 20 + 5 * sum(test.seconds for test in batch)):
            return "caught"
        size *= 2
    return "missed"


def main(arguments):
    is_list = arguments[:1] == ["--list"]
    output, minutes, *names = arguments[is_list:]
    if is_list:
        print(*(mutant["name"] for mutant in listed(names)), sep="\n")
        return
    deadline = time.monotonic() + 60 * float(minutes)
    output = Path(output)
    (output / "reached").mkdir(parents=True, exist_ok=True)
    chosen = listed(names)
    tree = copy(output, {LIBRARY} | {mutant["file"] for mutant in chosen})
    files, mutants = instrument(tree, chosen)
    excluded = compile_all(tree, files, mutants, output / "uncompiled.json")
    mutants = [mutant for mutant in mutants if mutant.number not in excluded]
    found = tests(tree)
    print(f"{len(mutants)} mutants, {len(excluded)} do not compile; {len(found)} tests", flush=True)
    known = output / "caught.json"
    caught = set(json.loads(known.read_text())) if known.exists() else set()

    # Several threads write the file.
    lock = Lock()

    def test_one(mutant):
        if mutant.name in caught:
            return "caught"
        ours = {other.number for other in mutants if other.file == mutant.file}
        reaching = Counter(number for test in found for number in test.reached & ours)
        outcome = detect(mutant, found, reaching, deadline)
        print(f"{outcome}: {mutant.name}", flush=True)
        if outcome == "caught":
            with lock:
                caught.add(mutant.name)
                update(known, json.dumps(sorted(caught)).encode())
        return outcome

    with ThreadPoolExecutor(os.cpu_count()) as executor:
        list(executor.map(lambda test: record(test, output), found))
        found = [test for test in found if test.passed]
        print(f"{len(found)} tests pass, {sum(bool(test.reached) for test in found)} reach a mutant", flush=True)
        outcomes = dict(zip((mutant.name for mutant in mutants), executor.map(test_one, mutants), strict=True))
    for outcome in ("missed", "not reached", "not tested"):
        chosen = sorted(name for name, result in outcomes.items() if result == outcome)
        print(f"\n{outcome}: {len(chosen)}", *chosen, sep="\n")
    count = Counter(outcomes.values())
    print(f"\nmutants: {count['caught']} caught, {count['missed']} missed, {count['not reached']} not reached, "
          f"{len(excluded)} not compiled")


if __name__ == "__main__":
    main(sys.argv[1:])
