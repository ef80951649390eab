// The grid in Chromium: cell marks, revealing and copying values, keyboard, filter, and size.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { cell, goTo, launch, open, openGrid, withoutEvents } from "./browser.mjs";
import { caller, change, createChain, createLarge, createMarks } from "./data.mjs";
import { startServer, tokenOf } from "./server.mjs";

let server, browser, call, token, team, slug, large;
const windows = [];

async function opened(options = {}) {
  const window = await open(browser, { url: server.url, token, ...options });
  windows.push(window);
  return window;
}

before(async () => {
  server = await startServer("dashboard-grid");
  token = tokenOf("alice");
  call = caller(server.url, token);
  team = (await call("POST", "/auth/sync")).teams[0].team_id;
  slug = await createMarks(call);
  large = (await createLarge(call)).slug;
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

const active = (page) => page.evaluate(() => document.querySelector("#grid .active")?.getAttribute("aria-label"));

// Returns the number of audit entries with this action.
async function recorded(action) {
  const { logs } = await call("GET", `/audit?team_id=${team}&action=${action}&limit=100`);
  return logs.length;
}

test("each state has its mark and its words", async () => {
  const { page } = await opened();
  await openGrid(page, server.url, slug);
  for (const [key, environment, words, mark] of [
    ["API_KEY", "staging", "own value, v2", "own"],
    ["API_KEY", "preview", "hidden here, overrides production", "hidden"],
    ["API_KEY", "qa", "hidden by preview", "inheritedHidden"],
    ["LOG_LEVEL", "preview", "overrides production, v1", "override"],
    ["LOG_LEVEL", "qa", "inherited from preview", "inherited"],
    ["MAIL_FROM", "qa", "inherited from production", "inherited"],
    ["MAIL_FROM", "staging", "missing", "missing"],
  ]) {
    const found = page.locator(`[aria-label="${key}, ${environment}, ${words}"]`);
    assert.equal(await found.count(), 1, `${key} ${environment} ${words}`);
    assert.match(await found.getAttribute("class"), new RegExp(`mark-${mark}\\b`));
  }
});

for (const depth of [1, 3, 16]) {
  test(`a chain of ${depth} has the marks of its last environment`, async () => {
    const { slug: chain, names } = await createChain(call, depth);
    const { page } = await opened();
    await openGrid(page, server.url, chain);
    const last = names.at(-1);
    const label = (key, words) => page.locator(`[aria-label="${key}, ${last}, ${words}"]`).count();
    const expected =
      depth === 1
        ? { BASE: "own value, v1", LAST: "own value, v1", GONE: "own value, v1" }
        : { BASE: "inherited from production", LAST: "overrides production, v1", GONE: "hidden here, overrides production" };
    for (const [key, words] of Object.entries(expected)) assert.equal(await label(key, words), 1, `${key} ${words}`);
  });
}

test("a reveal writes one audit entry, and a hidden value is not in the document", async () => {
  const { page, seen } = await opened();
  await openGrid(page, server.url, slug);
  const before = await recorded("secret.read");
  await page.locator("#grid").press("Enter");
  await page.locator("#grid .value").waitFor();
  assert.match(await page.content(), /kvc_development-API_KEY/);
  assert.equal(await recorded("secret.read"), before + 1);
  await page.locator("#grid").press("Escape");
  await page.locator("#grid .value").waitFor({ state: "detached" });
  assert.doesNotMatch(await page.content(), /kvc_/);
  assert.equal(await recorded("secret.read"), before + 1);
  const storage = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, document.title]));
  assert.doesNotMatch(storage, /kvc_/);
  assert.deepEqual(seen.problems, []);
});

test("the first click on a cell selects it, and the second reveals its value", async () => {
  const { page } = await opened();
  await openGrid(page, server.url, slug);
  const before = await recorded("secret.read");
  const id = await page.locator("#grid .cell:not(.active) > .text[data-action]").first().evaluate((text) => text.parentElement.id);
  const cell = page.locator(`[id="${id}"]`);
  await cell.locator(".text").click();
  await page.locator(`[id="${id}"].active`).waitFor();
  // Buttons of the active cell appear, so the page has handled the click.
  await cell.locator(".tools").waitFor();
  assert.doesNotMatch(await page.content(), /kvc_/);
  assert.equal(await recorded("secret.read"), before);
  await cell.locator(".text").click();
  await cell.locator(".value").waitFor();
  assert.equal(await recorded("secret.read"), before + 1);
});

test("a value is hidden again after 30 seconds", async () => {
  const { page } = await opened();
  await page.clock.install();
  await openGrid(page, server.url, slug);
  // Otherwise the clock also runs while the test waits.
  await page.clock.pauseAt(Date.now() + 10_000);
  await page.locator("#grid").press("Enter");
  await page.locator("#grid .value").waitFor();
  await page.clock.runFor(29_000);
  assert.match(await page.content(), /kvc_/);
  await page.clock.runFor(1_500);
  await page.locator("#grid .value").waitFor({ state: "detached" });
  assert.doesNotMatch(await page.content(), /kvc_/);
});

test("the values of an environment are revealed with one export, after a question", async () => {
  const { page, seen } = await opened();
  await openGrid(page, server.url, slug);
  await page.locator("#grid").press("Shift+R");
  await page.getByRole("dialog").getByText("9 values").waitFor();
  assert.doesNotMatch(await page.content(), /kvc_/);
  await page.getByRole("button", { name: "Reveal", exact: true }).last().click();
  await page.locator("#grid .value").first().waitFor();
  assert.equal(await page.locator("#grid .value").count(), 9);
  assert.equal(seen.requests.filter(({ url }) => url.includes("/secrets/")).length, 1);
});

test("a value is copied without being shown", async () => {
  const { page, context } = await opened();
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.url });
  await openGrid(page, server.url, slug);
  await page.locator("#grid").press("c");
  await page.getByText("Copied API_KEY of development").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "kvc_development-API_KEY");
  assert.doesNotMatch(await page.content(), /kvc_/);
  await page.getByRole("button", { name: "Clear the clipboard" }).click();
  await page.getByText("The clipboard is cleared.").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "");
});

test("if copying is refused, no notice says otherwise and the value is selected", async () => {
  const { page } = await opened();
  await page.addInitScript(() => {
    navigator.clipboard.write = () => Promise.reject(new DOMException("refused", "NotAllowedError"));
  });
  await openGrid(page, server.url, slug);
  await page.locator("#grid").press("c");
  await page.getByText("The browser did not allow copying.").waitFor();
  assert.equal(await page.getByText("Copied API_KEY").count(), 0);
  await page.waitForFunction(() => getSelection()?.toString() === "kvc_development-API_KEY");
});

test("the keyboard reaches every cell with one stop of the Tab key", async () => {
  const { page } = await opened();
  await openGrid(page, server.url, slug);
  await page.locator("#filter").press("/");
  await page.locator("#filter").fill("");
  await page.locator("#filter").press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement?.id), "grid");
  const walk = [
    ["ArrowRight", "API_KEY, staging, own value, v2"],
    ["ArrowDown", "DATABASE_URL, staging, own value, v1"],
    ["End", "DATABASE_URL, qa, overrides production, v1"],
    ["Control+End", "UPSTREAM_TIMEOUT_MS, qa, inherited from production"],
    ["ArrowDown", "UPSTREAM_TIMEOUT_MS, qa, inherited from production"],
    ["Control+Home", null],
    ["ArrowRight", "API_KEY, development, own value, v1"],
    ["PageDown", "UPSTREAM_TIMEOUT_MS, development, own value, v1"],
  ];
  for (const [key, label] of walk) {
    await page.locator("#grid").press(key);
    await page.waitForFunction((label) => document.querySelector("#grid .active")?.getAttribute("aria-label") === label, label);
    const id = await page.locator("#grid").getAttribute("aria-activedescendant");
    assert.equal(await page.locator(`#${id}.active`).count(), 1, key);
  }
  assert.equal(await page.evaluate(() => document.activeElement?.id), "grid");
  await page.keyboard.press("Tab");
  assert.notEqual(await page.evaluate(() => document.activeElement?.closest("#grid")), "grid");
  assert.equal(await page.evaluate(() => document.activeElement?.closest("#grid") === null), true);
});

test("keys of a single letter can be turned off", async () => {
  const { page, seen, context } = await opened();
  await withoutEvents(context);
  await openGrid(page, server.url, slug);
  await page.locator("#grid").press("?");
  await page.getByRole("checkbox", { name: "Single-letter shortcuts" }).uncheck();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement?.id), "grid");
  const before = seen.requests.length;
  await page.locator("#grid").press("c");
  await page.locator("#grid").press("?");
  await page.locator("#grid").press("ArrowDown");
  await page.waitForFunction(() => document.querySelector("#grid .active")?.getAttribute("aria-label")?.startsWith("DATABASE_URL"));
  assert.equal(await page.getByRole("dialog").count(), 0);
  assert.equal(seen.requests.length, before);
});

test("the filter narrows by text and marks, and is part of the address", async () => {
  const { page } = await opened();
  await openGrid(page, server.url, slug);
  const keys = () => page.locator("#grid [role=rowheader] .name").allTextContents();
  await page.locator("#filter").fill("url");
  await page.waitForFunction(() => document.querySelectorAll("#grid [role=rowheader]").length === 2);
  assert.deepEqual(await keys(), ["DATABASE_URL", "REDIS_URL"]);
  assert.equal(await page.locator("#grid").getAttribute("aria-rowcount"), "3");
  await page.locator("#filter").fill("");
  await page.getByRole("button", { name: /^Hidden/ }).click();
  await page.waitForFunction(() => document.querySelectorAll("#grid [role=rowheader]").length === 2);
  assert.deepEqual(await keys(), ["API_KEY", "SENTRY_DSN"]);
  await page.reload();
  await page.locator("#grid").waitFor();
  assert.deepEqual(await keys(), ["API_KEY", "SENTRY_DSN"]);
  await page.locator("#filter").fill("nothing like it");
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await page.waitForFunction(() => document.querySelectorAll("#grid [role=rowheader]").length === 11);
});

test("equal values are marked without being sent", async () => {
  const { page, seen, context } = await opened();
  await withoutEvents(context);
  await openGrid(page, server.url, slug);
  await page.getByRole("button", { name: "Mark equal values" }).click();
  await page.locator("[aria-label='LOG_LEVEL, development, own value, v1, same value as staging']").waitFor();
  assert.doesNotMatch(await page.content(), /kvc_/);
  assert.equal(seen.requests.filter(({ url }) => url.endsWith("/compare?equal=true")).length, 1);
});

test("a change of someone else appears when the window is seen again", async () => {
  const { page } = await opened();
  const mine = await createMarks(call, "Changing");
  await openGrid(page, server.url, mine);
  await change(call, mine, [{ environment: "staging", key: "REDIS_URL", action: "set", value: "kvc_later" }]);
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await page.locator("[aria-label='REDIS_URL, staging, own value, v2']").waitFor();
  await page.getByText("1 secret changed in staging").waitFor();
});

test("staged changes stay in their columns when an environment is deleted, and its changes are discarded", async () => {
  const { slug: columns } = await call("POST", "/projects", { name: "Columns" });
  for (const name of ["one", "two"]) await call("POST", `/projects/${columns}/environments`, { name });
  await change(call, columns, [{ environment: "development", key: "API_KEY", action: "set", value: "kvc_1" }]);
  const { page } = await opened();
  await openGrid(page, server.url, columns);
  for (const environment of ["one", "two"]) {
    await goTo(page, "API_KEY", environment);
    await page.locator("#grid").press("Shift+G");
  }
  const staged = () => page.locator("#grid .staged").evaluateAll((cells) => cells.map((cell) => `${cell.getAttribute("aria-colindex")} ${cell.getAttribute("aria-label")}`));
  await page.locator("#grid .staged").nth(1).waitFor();
  assert.deepEqual(await staged(), ["5 API_KEY, one, missing, Not saved: new secret", "6 API_KEY, two, missing, Not saved: new secret"]);
  await call("DELETE", `/projects/${columns}/environments/one`);
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await page.waitForFunction(() => document.querySelectorAll("#grid .heads .name").length === 4);
  assert.deepEqual(await staged(), ["5 API_KEY, two, missing, Not saved: new secret"]);
  assert.equal(await page.locator("#grid .cell.active").count(), 1);
  assert.equal(await page.getByRole("button", { name: "Reveal all values: two" }).count(), 0);

  await page.locator("#grid").press("Control+s");
  const dialog = page.getByRole("dialog", { name: "Review and save" });
  await dialog.getByText("1 change cannot be saved, because the environment was deleted.").waitFor();
  assert.equal(await dialog.getByRole("button", { name: "Save 2 changes" }).getAttribute("aria-disabled"), "true");
  await dialog.getByRole("button", { name: "Discard this change" }).click();
  await dialog.getByRole("button", { name: "Save 1 change" }).click();
  await page.getByText("Saved 1 change.").waitFor();
  // The header counts the new value, and offers to reveal it.
  await page.locator("#grid .head", { hasText: "two" }).getByText("1 value").waitFor();
  await page.getByRole("button", { name: "Reveal all values: two" }).waitFor();
});

test("1,000 keys of six environments are windowed", async (context) => {
  const { page, seen } = await opened();
  await openGrid(page, server.url, large);
  const elements = () => page.evaluate(() => document.querySelectorAll("#grid *").length);
  let most = await elements();
  await page.locator("#grid").press("Control+End");
  await page.locator("[aria-label^='SERVICE_0999_TOKEN, load, ']").waitFor();
  most = Math.max(most, await elements());
  await page.evaluate(() => document.getElementById("grid").scrollTo(0, 18_000));
  await page.locator("[aria-label^='SERVICE_0500_TOKEN, load, ']").waitFor();
  most = Math.max(most, await elements());
  // The active cell stays active, although its row has been scrolled out of view.
  assert.match(await active(page), /^SERVICE_0999_TOKEN, load, /);
  context.diagnostic(`elements ${most}, requests ${seen.requests.length}`);
  assert.ok(most <= 1_200, `${most} elements`);
  assert.equal(await page.locator("#grid").getAttribute("aria-rowcount"), "1001");
});

test("row elements are reused while the grid scrolls, and are in the order of the rows afterwards", async () => {
  const { page } = await opened();
  await openGrid(page, server.url, large);
  const { kept, rows } = await page.evaluate(async () => {
    const grid = document.getElementById("grid");
    const rows = () => [...grid.querySelectorAll(".rows [role=row]")];
    const frame = () => new Promise(requestAnimationFrame);
    const scroll = async (count) => {
      for (let step = 0; step < count; step++) {
        grid.scrollTop += 120;
        await frame();
      }
    };
    // The active row, which is rendered wherever the grid scrolls, has left the window.
    await scroll(10);
    const before = new Set(rows());
    await scroll(30);
    return { kept: rows().filter((row) => before.has(row)).length, rows: rows().length };
  });
  assert.equal(kept, rows);
  await page.waitForFunction(() => {
    const rows = [...document.querySelectorAll("#grid .rows [role=row]")].map((row) => Number(row.getAttribute("aria-rowindex")));
    return rows.every((row, place) => place === 0 || row > rows[place - 1]);
  });
  const texts = await page.evaluate(() =>
    [...document.querySelectorAll("#grid .rows [role=row]")].map((row) => {
      const [key, ...cells] = row.children;
      const name = key.querySelector(".name").textContent;
      const isRight = cells.every((cell, place) => cell.id === `cell-${row.dataset.row}-${place + 1}` && cell.getAttribute("aria-label").startsWith(`${name}, `));
      return { row: Number(row.dataset.row), name, isRight };
    }),
  );
  for (const { row, name, isRight } of texts) assert.ok(isRight && name === `SERVICE_${String(row).padStart(4, "0")}_TOKEN`, `${row} ${name}`);
  // A state of a cell stays with its key, not with its element.
  assert.equal(texts.length, rows);
  await page.locator("#grid").press("Shift+ArrowDown");
  await page.evaluate(() => document.getElementById("grid").scrollTo(0, 18_000));
  await page.locator("[aria-label^='SERVICE_0500_TOKEN, load, ']").waitFor();
  const selected = await page.locator("#grid [aria-selected=true]").evaluateAll((cells) => cells.map((cell) => cell.getAttribute("aria-label").split(", ")[0]));
  assert.deepEqual(selected, ["SERVICE_0001_TOKEN"]);
});

test("all requests of these windows went to the server, and nothing failed in them", () => {
  for (const { seen } of windows) {
    assert.deepEqual(seen.problems, []);
    for (const { url } of seen.requests) assert.equal(new URL(url).origin, server.url, url);
  }
});
