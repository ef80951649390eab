// Files of the dashboard: vendored files are identical to the files of their packages, types are
// correct, sizes are limited, and modules that need no page return the right results.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { moved, windowOf } from "../../secrets-http/dashboard/grid/cells.js";
import { differences } from "../../secrets-http/dashboard/windows/differences.js";
import { MAX_RESULTS, matching } from "../../secrets-http/dashboard/windows/matching.js";
import { root } from "./server.mjs";

const folder = join(root, "secrets-http/dashboard");
const modules = join(root, "tests/dashboard/node_modules");
const own = readdirSync(folder, { recursive: true }).filter((name) => /\.(js|css)$/.test(name));

// Files of the first screen: those outside of the folders whose files are loaded later.
const FIRST = /^(?!sections\/|windows\/)/;

test("vendored files and their licences are those of the packages", () => {
  const files = {
    "preact.mjs": "preact/dist/preact.mjs",
    "hooks.mjs": "preact/hooks/dist/hooks.mjs",
    "signals.mjs": "@preact/signals/dist/signals.mjs",
    "signals-core.mjs": "@preact/signals-core/dist/signals-core.mjs",
    "htm.mjs": "htm/dist/htm.mjs",
    "preact.LICENSE.txt": "preact/LICENSE",
    "signals.LICENSE.txt": "@preact/signals/LICENSE",
    "signals-core.LICENSE.txt": "@preact/signals-core/LICENSE",
    "htm.LICENSE.txt": "htm/LICENSE",
  };
  assert.deepEqual(readdirSync(join(folder, "vendor")).sort(), Object.keys(files).sort());
  for (const [name, original] of Object.entries(files)) {
    assert.ok(readFileSync(join(folder, "vendor", name)).equals(readFileSync(join(modules, original))), name);
  }
});

test("the types are correct", () => {
  const config = join(root, "tests/dashboard/tsconfig.json");
  const { status, stdout } = spawnSync(join(modules, ".bin/tsc"), ["-p", config], { encoding: "utf8" });
  assert.equal(stdout, "");
  assert.equal(status, 0);
});

test("a file has at most 300 lines, only api.js calls fetch, and nothing parses text as HTML", () => {
  assert.ok(own.length > 20);
  for (const name of own) {
    const text = readFileSync(join(folder, name), "utf8");
    assert.ok(text.split("\n").length <= 300, name);
    if (name !== "api.js") assert.doesNotMatch(text, /\bfetch\(/, name);
    assert.doesNotMatch(text, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/i, name);
    assert.doesNotMatch(text, /\bsessionStorage\b|\bindexedDB\b|\sstyle="/, name);
    if (name !== "parts/browser.js") assert.doesNotMatch(text, /\blocalStorage\b/, name);
  }
});

test("the first screen imports all scripts outside of the folders that are loaded later, and no other scripts", () => {
  const found = new Set();
  const visit = (name) => {
    if (found.has(name)) return;
    found.add(name);
    const imports = readFileSync(join(folder, name), "utf8").matchAll(/^import .* from "(\..*)";$/gm);
    for (const [, path] of imports) visit(join(dirname(name), path));
  };
  visit("main.js");
  assert.deepEqual([...found].sort(), own.filter((name) => FIRST.test(name) && name.endsWith(".js")).sort());
});

test("all files together are small", (context) => {
  // Windows and sections are loaded when they are opened.
  const folders = { page: FIRST, windows: /^windows\//, sections: /^sections\// };
  const most = { page: 154_000, windows: 114_000, sections: 174_000 };
  for (const [part, pattern] of Object.entries(folders)) {
    const files = own.filter((name) => pattern.test(name));
    const bytes = files.reduce((sum, name) => sum + readFileSync(join(folder, name)).length, 0);
    context.diagnostic(`${part}: ${files.length} files, ${bytes} bytes before compression`);
    assert.ok(bytes <= most[part], `${part}: ${bytes} bytes`);
  }
});

test("the window of rows covers what is visible and no more than the overscan", () => {
  for (const scrollTop of [0, 1, 359, 18_000, 35_400, 99_999]) {
    const { first, last } = windowOf({ scrollTop, height: 600, rowHeight: 36, count: 1_000 });
    assert.ok(first >= 0 && last <= 1_000 && last - first <= 30, `${scrollTop}: ${first} ${last}`);
    const top = Math.min(scrollTop, 36_000 - 600);
    assert.ok(first * 36 <= top && last * 36 >= Math.min(36_000, top + 600), `${scrollTop}: ${first} ${last}`);
  }
  assert.deepEqual(windowOf({ scrollTop: 0, height: 600, rowHeight: 36, count: 3 }), { first: 0, last: 3 });
});

test("keys move within the grid and never beyond it", () => {
  const size = { rows: 10, columns: 4, page: 5 };
  const key = (key, ctrlKey = false) => ({ key, ctrlKey, altKey: false, metaKey: false, shiftKey: false });
  const cases = [
    [key("ArrowUp"), { row: 0, column: 1 }, { row: 0, column: 1 }],
    [key("ArrowDown"), { row: 9, column: 1 }, { row: 9, column: 1 }],
    [key("PageDown"), { row: 2, column: 1 }, { row: 7, column: 1 }],
    [key("PageUp"), { row: 2, column: 1 }, { row: 0, column: 1 }],
    [key("Home"), { row: 2, column: 3 }, { row: 2, column: 0 }],
    [key("End", true), { row: 2, column: 3 }, { row: 9, column: 3 }],
    [key("a"), { row: 2, column: 3 }, null],
    [{ ...key("ArrowUp"), altKey: true }, { row: 2, column: 3 }, null],
  ];
  for (const [event, from, to] of cases) assert.deepEqual(moved(event, from, size), to, event.key);
});

// Returns a comparison of environments, in each of which the caller may write, with a row for each key.
const comparisonOf = (names, rows) => ({
  environments: names.map((name) => ({ id: name, name, role: "write" })),
  keys: Object.entries(rows).map(([key, cells]) => ({ key, cells })),
});

const secret = (version, more = {}) => ({ state: "own", version, updated_at: "2026-01-01", ...more });

// Returns the group of each key, with a `*` if its value can be copied.
const kindsOf = (...from) => Object.fromEntries(differences(...from).map(({ row, kind, canCopy }) => [row.key, canCopy ? `${kind} *` : kind]));

test("keys of two environments are grouped by the environments that have a value", () => {
  const comparison = comparisonOf(["a", "b"], {
    ONE: [secret(1), null],
    OTHER: [null, secret(1)],
    BOTH: [secret(1), secret(1)],
    NONE: [null, secret(1, { state: "hidden" })],
    HIDDEN: [secret(1), secret(2, { state: "hidden" })],
    INHERITED: [secret(1), secret(1, { state: "inherited", from: "a" })],
    MANAGED: [secret(1), secret(1, { rotation: "main-db" })],
    RESTRICTED: [secret(1, { state: "inherited", from: "c", restricted: true }), null],
  });
  assert.deepEqual(kindsOf(comparison, "a", "b", null), {
    ONE: "onlySource *", OTHER: "onlyTarget", BOTH: "unknown *", HIDDEN: "onlySource *", INHERITED: "equal", MANAGED: "unknown", RESTRICTED: "onlySource",
  });
  assert.deepEqual(kindsOf(comparison, "b", "a", null), {
    ONE: "onlyTarget", OTHER: "onlySource *", BOTH: "unknown *", HIDDEN: "onlyTarget", INHERITED: "equal", MANAGED: "unknown *", RESTRICTED: "onlyTarget",
  });
});

test("values are equal or different only while both secrets are those that were compared", () => {
  const rows = { SAME: [secret(1), secret(1)], OTHER: [secret(1), secret(1)], CHANGED: [secret(1), secret(2)], UNREADABLE: [secret(1), secret(1)] };
  const groups = (...numbers) => numbers.map((group) => secret(1, { group }));
  // The response has another order of environments.
  const compared = comparisonOf(["b", "a"], { SAME: groups(1, 1), OTHER: groups(1, 2), CHANGED: groups(3, 3), UNREADABLE: groups(4, undefined) });
  assert.deepEqual(kindsOf(comparisonOf(["a", "b"], rows), "a", "b", compared), { SAME: "equal", OTHER: "different *", CHANGED: "unknown *", UNREADABLE: "unknown *" });
  // A comparison of other environments tells nothing.
  assert.deepEqual(kindsOf(comparisonOf(["a", "c"], { SAME: rows.SAME }), "a", "c", compared), { SAME: "unknown *" });
  // The grid has groups of its own if it marks equal values.
  assert.deepEqual(kindsOf(comparisonOf(["a", "b"], { SAME: groups(1, 2) }), "a", "b", compared), { SAME: "different *" });
});

test("commands are found by their words and letters, the best first", () => {
  const named = (...names) => names.map((name) => ({ id: name, kind: "key", name, run: () => {} }));
  const found = (text, ...names) => matching(named(...names), text).map(({ name }) => name);
  assert.deepEqual(found("", "B", "A"), ["B", "A"]);
  assert.deepEqual(found("key", "MONKEY", "API_KEY", "KEY", "KAPPA"), ["KEY", "API_KEY", "MONKEY"]);
  assert.deepEqual(found("url database", "DATABASE_URL", "URL"), ["DATABASE_URL"]);
  assert.deepEqual(found("dburl", "DATABASE_URL", "DEBUG"), ["DATABASE_URL"]);
  assert.deepEqual(found("xyz", "DATABASE_URL"), []);
  assert.equal(matching(named(...Array.from({ length: 1_000 }, (_, index) => `KEY_${index}`)), "key").length, MAX_RESULTS);
  assert.deepEqual(matching([{ id: "1", kind: "project", name: "Web", about: "main-site", run: () => {} }], "site web").length, 1);
});
