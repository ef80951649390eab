// Staged changes, without a browser: steps, undo, plan, and conflicts. Lines of values that differ.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { contains, rectangleOf, sizeOf } from "../../secrets-http/dashboard/grid/cells.js";
import { NOTHING_STAGED, conflictsOf, inheritorsOf, redo, stage, undo, unstage, withNewKeys } from "../../secrets-http/dashboard/grid/staged.js";
import { isDotenv, lineOf, parsed } from "../../secrets-http/dashboard/windows/dotenv.js";
import { lineDifferences } from "../../secrets-http/dashboard/windows/differences.js";
import { afterSave, planOf, rebase } from "../../secrets-http/dashboard/windows/plan.js";
import { root } from "./server.mjs";

const set = (environment, key, value, base = 1, rest = {}) => ({ environment, key, action: "set", value, base, ...rest });
const simple = (action, environment, key, base = 1) => ({ environment, key, action, base });
const own = (version, state = "own") => ({ state, version, updated_at: "" });
const comparison = {
  revision: "1",
  environments: [
    { id: "p", name: "production", role: "admin", order: 0 },
    { id: "v", name: "preview", role: "admin", order: 1, inherits_from: "p" },
    { id: "q", name: "qa", role: "admin", order: 2, inherits_from: "v" },
  ],
  keys: [
    { key: "A", cells: [own(3), { state: "inherited", from: "production", version: 3 }, own(1, "override")] },
    { key: "C", cells: [own(1), own(2, "hidden"), { state: "inherited_hidden", from: "preview", version: 2 }] },
  ],
};

test("a plan has every change with its expected version, and none of the page's own fields", () => {
  const staged = stage(NOTHING_STAGED, [set("p", "A", "kvc_1", 3), simple("hide", "v", "A", 0), { ...simple("copy", "q", "C", 0), from: "p" }]);
  assert.deepEqual(planOf(staged.changes), [
    { environment: "p", key: "A", action: "set", value: "kvc_1", expected_version: 3 },
    { environment: "v", key: "A", action: "hide", expected_version: 0 },
    { environment: "q", key: "C", action: "copy", from: "p", expected_version: 0 },
  ]);
  assert.ok(planOf(staged.changes, { hasVersions: false }).every((change) => !("expected_version" in change)));
});

test("changes of one cell are combined, and the last one holds", () => {
  let staged = stage(NOTHING_STAGED, [{ ...simple("describe", "p", "A"), description: "one" }]);
  staged = stage(staged, [set("p", "A", "kvc_1")]);
  assert.deepEqual(planOf(staged.changes), [{ environment: "p", key: "A", action: "set", value: "kvc_1", description: "one", expected_version: 1 }]);
  staged = stage(staged, [{ ...simple("describe", "p", "A"), description: "two" }]);
  assert.equal(planOf(staged.changes)[0].description, "two");
  assert.equal(planOf(staged.changes)[0].value, "kvc_1");
  staged = stage(staged, [simple("hide", "p", "A")]);
  assert.deepEqual(planOf(staged.changes), [{ environment: "p", key: "A", action: "hide", expected_version: 1 }]);
});

test("a new description does not replace a staged hide or delete", () => {
  for (const action of ["hide", "delete"]) {
    const staged = stage(NOTHING_STAGED, [simple(action, "p", "A", 3)]);
    const described = stage(staged, [{ ...simple("describe", "p", "A", 3), description: "one" }]);
    assert.deepEqual(planOf(described.changes), [{ environment: "p", key: "A", action, expected_version: 3 }]);
  }
});

test("deleting a secret that is only staged leaves nothing", () => {
  const staged = stage(stage(NOTHING_STAGED, [set("p", "NEW", "kvc_1", 0)]), [simple("delete", "p", "NEW", 0)]);
  assert.equal(staged.changes.size, 0);
});

test("steps are undone and redone, and after a new step none can be redone", () => {
  const one = stage(NOTHING_STAGED, [set("p", "A", "kvc_1"), set("v", "A", "kvc_1")]);
  const two = unstage(one, ["p/A"]);
  assert.equal(two.changes.size, 1);
  assert.equal(undo(two).changes.size, 2);
  assert.equal(undo(undo(two)).changes.size, 0);
  assert.equal(undo(NOTHING_STAGED).changes.size, 0);
  assert.equal(redo(undo(two)).changes.size, 1);
  assert.equal(redo(stage(undo(two), [set("q", "A", "kvc_2")])).changes.size, 3);
  assert.equal(unstage(one, ["none"]), one);
});

test("a change is a conflict if its secret has another version, is new or was deleted", () => {
  const staged = stage(NOTHING_STAGED, [set("p", "A", "kvc_1", 3), set("q", "A", "kvc_1", 2), set("v", "A", "kvc_1", 1), set("v", "C", "kvc_1", 0)]);
  assert.deepEqual([...conflictsOf(staged.changes, comparison)], [["q/A", 1], ["v/A", 0], ["v/C", 2]]);
  const mine = rebase(staged, "q/A", 1);
  assert.equal(conflictsOf(mine.changes, comparison).has("q/A"), false);
  assert.equal(mine.changes.get("q/A").value, "kvc_1");
  const gone = stage(NOTHING_STAGED, [simple("delete", "v", "A", 1)]);
  assert.equal(rebase(gone, "v/A", 0).changes.size, 0);
});

test("another edit of a conflicting cell does not hide the conflict", () => {
  const staged = stage(stage(NOTHING_STAGED, [set("q", "A", "kvc_1", 0)]), [set("q", "A", "kvc_2", 1)]);
  assert.equal(conflictsOf(staged.changes, comparison).get("q/A"), 1);
});

test("a change in a deleted environment is no conflict", () => {
  const staged = stage(NOTHING_STAGED, [set("deleted", "A", "kvc_1", 3), set("deleted", "NEW", "kvc_1", 0)]);
  assert.equal(conflictsOf(staged.changes, comparison).size, 0);
});

test("after a save, the changes that were staged meanwhile are kept, based on the saved versions", () => {
  const sent = stage(NOTHING_STAGED, [set("p", "A", "kvc_1", 3), set("p", "B", "kvc_1", 0), simple("delete", "p", "C", 1), set("v", "C", "kvc_1", 2)]);
  const versions = new Map([["p/A", 4], ["p/B", 1], ["p/C", 0], ["v/C", 3]]);
  const left = afterSave(stage(sent, [set("p", "A", "kvc_2", 3), set("q", "A", "kvc_2", 1)]), sent.changes, versions);
  assert.deepEqual(planOf(left.changes), [
    { environment: "p", key: "A", action: "set", value: "kvc_2", expected_version: 4 },
    { environment: "q", key: "A", action: "set", value: "kvc_2", expected_version: 1 },
  ]);
  assert.deepEqual([left.past, left.future], [[], []]);
  assert.deepEqual(afterSave(sent, sent.changes, versions), NOTHING_STAGED);
  // A deleted secret cannot be described.
  assert.equal(afterSave(stage(sent, [{ ...simple("describe", "p", "C"), description: "one" }]), sent.changes, versions).changes.size, 0);
  // A step that was undone meanwhile is staged again.
  const second = stage(sent, [set("p", "A", "kvc_2", 3)]);
  const [again] = planOf(afterSave(undo(second), second.changes, versions).changes);
  assert.deepEqual([again.value, again.expected_version], ["kvc_1", 4]);
});

test("a new key has a row in its place of the order", () => {
  const { changes } = stage(NOTHING_STAGED, [set("p", "B", "kvc_1", 0), set("p", "A", "kvc_1", 3)]);
  assert.deepEqual(withNewKeys(comparison, changes).keys.map(({ key }) => key), ["A", "B", "C"]);
  assert.equal(withNewKeys(comparison, NOTHING_STAGED.changes), comparison);
});

test("the environments that inherit a change are found", () => {
  assert.deepEqual(inheritorsOf(set("p", "A"), comparison), ["preview"]);
  assert.deepEqual(inheritorsOf(set("p", "C"), comparison), []);
  assert.deepEqual(inheritorsOf(set("v", "C"), comparison), ["qa"]);
  assert.deepEqual(inheritorsOf(set("p", "NEW"), comparison), ["preview", "qa"]);
});

test("a pasted line is understood with certainty, or an error by its number", () => {
  const certain = [
    ["A=kvc_1", "kvc_1"],
    ["export A = kvc_1  ", "kvc_1"],
    ["A=", ""],
    ["A='kvc_ $1 \\ # \"'", 'kvc_ $1 \\ # "'],
    ['A="kvc_ # 1"', "kvc_ # 1"],
    ["A='kvc_ one  \n two=2\n'", "kvc_ one  \n two=2\n"],
    ["\ufeffA=kvc_1\r\n# comment\r\n", "kvc_1"],
    ["A=postgres://u:p@h/d?x=1&y=2", "postgres://u:p@h/d?x=1&y=2"],
  ];
  for (const [text, value] of certain) assert.deepEqual(parsed(text), { values: new Map([["A", value]]), errors: [] }, text);
  const uncertain = ["A=$B", "A=kvc # comment", 'A="a\\nb"', "A='a' b", "A=`a`", "1A=b", "no line", "A='open", "A='open\nB=kvc_2", "A=a'b"];
  for (const text of uncertain) assert.deepEqual(parsed(text), { values: new Map(), errors: [1] }, text);
  assert.deepEqual(parsed("A=1\n\nB\nA=2"), { values: new Map([["A", "1"]]), errors: [3, 4] });
  // The further lines of a value with several lines are not parsed as keys.
  assert.deepEqual(parsed("A=\"-----\nMIIE==\n-----\" x\nB=1"), { values: new Map([["B", "1"]]), errors: [1] });
  assert.equal(isDotenv("some words\nA=1"), true);
  assert.equal(isDotenv("some words"), false);
});

test("a value is copied as a line that is understood, or not at all", () => {
  for (const value of ["", "kvc_1", "kvc one", "a # b", "it's", 'a "b"', "$HOME `x` \\ \"", "C:\\dir $", "postgres://u:p@h/d?x=1&y=2", "kvc_\u00e4", "two\nlines\n"]) {
    assert.deepEqual(parsed(lineOf("A", value)), { values: new Map([["A", value]]), errors: [] }, value);
  }
  const refused = ["two\r\nlines", "it's\u2028 $5", "both ' and \"", "\0", "a ${HOME}", "it's ${HOME}", "two \\\\", "\\\\host\\share", "end\\", "line\\\nline"];
  for (const value of refused) assert.equal(lineOf("A", value), null, value);
});

test("a key that no shell variable can have is not copied as a line", () => {
  const [, list] = readFileSync(join(root, "secrets-core/src/formats/mod.rs"), "utf8").match(/SHELL_VARIABLES: [^=]*= \[([^\]]*)\]/);
  const names = list.match(/\w+/g);
  assert.ok(names.length > 20);
  for (const key of [...names, "a.b", "a-b"]) assert.equal(lineOf(key, "kvc_1"), null, key);
});

test("a selection is the rectangle between two cells, and all environments from the column of the keys", () => {
  const places = new Map(["A", "B", "C"].map((key, row) => [key, row]));
  const cell = (key, column) => ({ key, column });
  const cases = [
    [cell("A", 1), cell("B", 2), { top: 0, bottom: 1, left: 1, right: 2 }, 4],
    [cell("C", 2), cell("A", 1), { top: 0, bottom: 2, left: 1, right: 2 }, 6],
    [cell("B", 0), cell("C", 2), { top: 1, bottom: 2, left: 1, right: 3 }, 6],
    [cell("A", 9), cell("A", 9), { top: 0, bottom: 0, left: 3, right: 3 }, 1],
    [cell("A", 1), cell("HIDDEN", 1), null, 0],
  ];
  for (const [from, to, rectangle, size] of cases) {
    assert.deepEqual(rectangleOf({ from, to }, places, 3), rectangle);
    assert.equal(sizeOf(rectangle), size);
  }
  assert.equal(rectangleOf(null, places, 3), null);
  const [{ 2: rectangle }] = cases;
  assert.deepEqual([contains(rectangle, 1, 2), contains(rectangle, 2, 1), contains(rectangle, undefined, 1), contains(null, 0, 1)], [true, false, false, false]);
});

test("lines are marked that only one of two values has", () => {
  const marked = (one, other) =>
    lineDifferences([one, other]).map((lines) => lines.filter(({ isDifferent }) => isDifferent).map(({ text }) => text));
  assert.deepEqual(marked("a\nb\nc", "a\nx\nc\nd"), [["b"], ["x", "d"]]);
  assert.deepEqual(marked("a\nb", "b\na"), [["a"], ["a"]]);
  assert.deepEqual(marked("same\n", "same\n"), [[], []]);
  assert.deepEqual(marked("", "a\nb"), [[""], ["a", "b"]]);
  assert.deepEqual(lineDifferences(["a", undefined]), []);
  const [long, other] = ["x", "y"].map((text) => `first\n${`${text}\n`.repeat(2_000)}last`);
  assert.deepEqual(marked(long, other).map(({ length }) => length), [2_000, 2_000]);
  // The lines of a side are the whole value.
  assert.equal(lineDifferences(["a\n\nb", "b"])[0].map(({ text }) => text).join("\n"), "a\n\nb");
});
