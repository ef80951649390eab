// Files of the dashboard: vendored files are identical to the files of their packages, types are
// correct, sizes are limited, and modules that need no page return the right results.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { moved, windowOf } from "../../secrets-http/dashboard/grid/cells.js";
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
  const most = { page: 150_000, windows: 62_000, sections: 170_000 };
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
