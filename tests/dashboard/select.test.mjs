// Several selected cells in Chromium: selecting with the keyboard and the pointer, and the actions
// on all selected cells.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";

import { cell, closeAll, SIZES, goTo, launch, look, open, openGrid } from "./browser.mjs";
import { caller, createMarks } from "./data.mjs";
import { startServer, tokenOf } from "./server.mjs";

let server, browser, call, token;
let projects = 0;
const windows = [];

before(async () => {
  server = await startServer("dashboard-select");
  token = tokenOf("alice");
  call = caller(server.url, token);
  await call("POST", "/auth/sync");
  browser = await launch();
});

afterEach(() => closeAll(windows));

after(async () => {
  await browser?.close();
  await server?.close();
});

// Opens a window with the grid of a new project.
async function opened(options = {}) {
  const slug = await createMarks(call, `Selecting ${++projects}`);
  const window = await open(browser, { url: server.url, token, ...options });
  windows.push(window);
  await openGrid(window.page, server.url, slug);
  return { ...window, slug };
}

const value = async (slug, environment, key) =>
  (await call("GET", `/projects/${slug}/environments/${environment}/secrets/${key}`)).secret.value;

// Waits until this number of cells is selected, and returns their names without their states.
async function selected(page, number) {
  await page.waitForFunction((number) => document.querySelectorAll("#grid [aria-selected=true]").length === number, number);
  const labels = await page.locator("#grid [aria-selected=true]").evaluateAll((cells) => cells.map((cell) => cell.getAttribute("aria-label")));
  return labels.map((label) => label.split(", ").slice(0, 2).join(" ")).sort();
}

async function press(page, ...keys) {
  for (const key of keys) await page.locator("#grid").press(key);
}

const bar = (page) => page.getByRole("region", { name: "Changes that are not saved" });

async function save(page, number) {
  await press(page, "Control+s");
  await page.getByRole("button", { name: new RegExp(`^Save ${number} change`) }).click();
  const isAsked = page.getByRole("button", { name: "Save to production" });
  await isAsked.or(page.getByText(/^Saved/)).first().waitFor();
  if (await isAsked.isVisible()) await isAsked.click();
  await page.getByText(new RegExp(`Saved ${number} change`)).waitFor();
}

test("cells are selected with the keyboard and the pointer", async () => {
  const { page } = await opened();
  await press(page, "Control+Home", "ArrowRight", "Shift+ArrowRight", "Shift+ArrowDown");
  assert.deepEqual(await selected(page, 4), ["API_KEY development", "API_KEY staging", "DATABASE_URL development", "DATABASE_URL staging"]);
  await page.getByText("4 cells of 2 environments selected").waitFor();
  await press(page, "Shift+ArrowLeft");
  assert.deepEqual(await selected(page, 2), ["API_KEY development", "DATABASE_URL development"]);
  // Moving without Shift and pressing Esc both end the selection.
  await press(page, "ArrowDown");
  await selected(page, 0);
  await press(page, "Space");
  assert.equal((await selected(page, 5)).every((name) => name.startsWith("DEBUG_TOOLBAR ")), true);
  await press(page, "Escape");
  await selected(page, 0);
  await press(page, "Control+Space");
  assert.equal((await selected(page, 11)).every((name) => name.endsWith(" development")), true);
  await press(page, "Control+a");
  await selected(page, 55);
  await press(page, "Escape");
  // Clicks next to the dots, because a click on the dots reveals the value.
  await cell(page, "LOG_LEVEL", "staging").click({ position: { x: 4, y: 4 } });
  await cell(page, "REDIS_URL", "production").click({ modifiers: ["Shift"] });
  assert.deepEqual(await selected(page, 6), ["LOG_LEVEL production", "LOG_LEVEL staging", "MAIL_FROM production", "MAIL_FROM staging", "REDIS_URL production", "REDIS_URL staging"]);
  assert.equal(await page.evaluate(() => getSelection().toString()), "");
  // The filter hides a corner of the selection, which ends the selection.
  await page.locator("#filter").fill("REDIS");
  await selected(page, 0);
});

test("selected cells are deleted, hidden and generated, each in one step that is undone", async () => {
  const { page, slug } = await opened();
  await goTo(page, "", "development");
  await press(page, "Shift+ArrowDown", "Shift+ArrowRight", "Delete");
  await bar(page).getByText("4 changes in 2 environments").waitFor();
  await press(page, "Control+z");
  await bar(page).waitFor({ state: "hidden" });
  await press(page, "Shift+G");
  await bar(page).getByText("4 changes in 2 environments").waitFor();
  const before = await value(slug, "staging", "API_KEY");
  await press(page, "Escape", "Control+End");
  // The last row has an inherited value, which is hidden, and cannot be deleted.
  await press(page, "Shift+ArrowLeft", "Delete");
  await bar(page).getByText("4 changes in 2 environments").waitFor();
  await press(page, "x");
  await bar(page).getByText("6 changes in 4 environments").waitFor();
  await save(page, 6);
  const made = await Promise.all(["development", "staging"].flatMap((environment) => ["API_KEY", "DATABASE_URL"].map((key) => value(slug, environment, key))));
  for (const one of made) assert.match(one, /^[A-Za-z0-9]{32}$/);
  assert.equal(new Set(made).size, 4);
  assert.notEqual(made[2], before);
  await page.locator("[aria-label='UPSTREAM_TIMEOUT_MS, preview, hidden here, overrides production']").waitFor();
});

test("values of one environment are copied to another one, without reaching the page", async () => {
  const { page, slug, seen } = await opened();
  await goTo(page, "", "production");
  await press(page, "Control+Space", "p");
  const dialog = page.getByRole("dialog", { name: "Copy to another environment" });
  await dialog.getByText("10 values of production").waitFor();
  await look(page, "copy-to");
  await dialog.getByLabel("Environment").selectOption("staging");
  await dialog.getByRole("button", { name: "Stage 10 changes" }).click();
  await bar(page).getByText("10 changes in 1 environment").waitFor();
  await save(page, 10);
  assert.equal(await value(slug, "staging", "SENTRY_DSN"), "kvc_dsn");
  assert.equal(await value(slug, "staging", "MAIL_FROM"), "kvc_mail@example.com");
  assert.equal(seen.requests.some(({ url }) => url.includes("/secrets/")), false);
  // Cells of several environments cannot be copied from one environment.
  await goTo(page, "LOG", "development");
  await press(page, "Space", "p");
  await dialog.getByText("Select cells of one environment.").waitFor();
  assert.equal(await dialog.getByRole("button", { name: /^Stage/ }).count(), 0);
});

test("values are copied as lines, and what no line can carry is left out by name", async () => {
  const { page, slug, context } = await opened();
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.url });
  await call("PUT", `/projects/${slug}/environments/development/secrets/DATABASE_URL`, { value: "kvc_it's a \"$5\"" });
  await call("PUT", `/projects/${slug}/environments/development/secrets/DEBUG_TOOLBAR`, { value: "kvc_two words" });
  // Waits until the page has said that the secrets have changed: its notice would replace that of the copy.
  for (const key of ["DATABASE_URL", "DEBUG_TOOLBAR"]) await page.locator(`[aria-label='${key}, development, own value, v2']`).waitFor();
  await goTo(page, "", "development");
  await press(page, "Shift+ArrowDown", "Shift+ArrowDown", "c");
  await page.getByText("Copied 2 values of development. Each read is recorded. Left out, because their keys or values cannot be written as a line: DATABASE_URL.").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "API_KEY=kvc_development-API_KEY\nDEBUG_TOOLBAR='kvc_two words'\n");
  assert.doesNotMatch(await page.content(), /kvc_/);
  await press(page, "Control+a", "c");
  await page.getByText("Select cells of one environment.").waitFor();
});

test("a selection is described although the page is never idle", async () => {
  const { page } = await opened();
  await page.addInitScript(() => (window.requestIdleCallback = () => 0));
  await page.reload();

  await press(page, "Shift+ArrowDown");

  await page.getByText("2 cells of 1 environment selected").waitFor();
});

test("a selection has no findings of axe, and fits into a narrow window", async () => {
  for (const size of Object.values(SIZES)) {
    const { page } = await opened(size);
    await press(page, "Shift+ArrowDown", "Shift+ArrowDown");
    await page.getByText("3 cells of 1 environment selected").waitFor();
    await look(page, "selection");
  }
});
