// The editor and the history of a key in Chromium: line breaks, text typed while a value is loaded, edits during a save,
// and older versions.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { closeAll, goTo, launch, look, open, openGrid } from "./browser.mjs";
import { caller, change, createMarks } from "./data.mjs";
import { startServer, tokenOf } from "./server.mjs";

let server, browser, call, token;
let projects = 0;
const windows = [];

before(async () => {
  server = await startServer("dashboard-editor");
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

const created = () => createMarks(call, `Editor ${++projects}`);

// Opens a window with the grid of a project.
async function opened(slug) {
  const window = await open(browser, { url: server.url, token });
  windows.push(window);
  await openGrid(window.page, server.url, slug);
  return window;
}

const path = (slug, environment, key) => `/projects/${slug}/environments/${environment}/secrets/${key}`;

const value = async (...place) => (await call("GET", path(...place))).secret.value;

const field = (page) => page.getByRole("textbox", { name: "New value" });

// Opens the editor of a cell.
async function edit(page, key, environment) {
  await goTo(page, key, environment);
  await page.locator("#grid").press("e");
  await field(page).waitFor();
}

// Stages the content of the editor.
async function keep(page) {
  await page.keyboard.press("Control+Enter");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.waitForFunction(() => document.activeElement?.id === "grid");
}

async function save(page, number) {
  await page.locator("#grid").press("Control+s");
  await page.getByRole("button", { name: `Save ${number} change` }).click();
  await page.getByText(new RegExp(`^Saved ${number} change`)).waitFor();
}

// Returns a promise, and the function that resolves it.
function later() {
  let resolve;
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve };
}

const bar = (page) => page.getByRole("region", { name: "Changes that are not saved" });

test("line breaks of a value stay when it is edited, unless they differ", async () => {
  const slug = await created();
  await call("PUT", path(slug, "staging", "REDIS_URL"), { value: "kvc_one\r\nkvc_two" });
  await call("PUT", path(slug, "development", "MAIL_FROM"), { value: "kvc_one\r\nkvc_two\nkvc_three" });
  const { page } = await opened(slug);
  const load = async () => {
    await page.getByRole("button", { name: "Load the current value" }).click();
    await page.getByText("Loaded. The read is recorded").waitFor();
  };
  const warning = page.getByText("The value has line breaks of several kinds.");
  await edit(page, "REDIS_URL", "staging");
  await load();
  assert.equal(await field(page).inputValue(), "kvc_one\nkvc_two");
  await field(page).fill("kvc_one\nkvc_two\nkvc_three");
  await keep(page);
  // A staged value is edited in the same way.
  await edit(page, "REDIS_URL", "staging");
  assert.equal(await warning.count(), 0);
  await field(page).fill("kvc_1\nkvc_2\n");
  await keep(page);
  await edit(page, "MAIL_FROM", "development");
  await load();
  await warning.waitFor();
  await look(page, "editor-breaks");
  await field(page).fill("kvc_1\nkvc_2");
  await keep(page);
  await save(page, 2);
  assert.equal(await value(slug, "staging", "REDIS_URL"), "kvc_1\r\nkvc_2\r\n");
  assert.equal(await value(slug, "development", "MAIL_FROM"), "kvc_1\nkvc_2");
});

test("text that is typed while the value is loaded is kept", async () => {
  const { page, context } = await opened(await created());
  const held = later();
  await context.route("**/secrets/REDIS_URL", async (route) => {
    await held.promise;
    await route.fallback();
  });
  await edit(page, "REDIS_URL", "staging");
  const isAsked = page.waitForRequest("**/secrets/REDIS_URL");
  await page.getByRole("button", { name: "Load the current value" }).click();
  await isAsked;
  await field(page).fill("kvc_typed");
  held.resolve();
  await page.getByText("Your text is kept.").waitFor();
  assert.equal(await field(page).inputValue(), "kvc_typed");
  // Loading again replaces the text, because it has not changed since.
  await page.getByRole("button", { name: "Load the current value" }).click();
  await page.getByText("Loaded. The read is recorded").waitFor();
  assert.equal(await field(page).inputValue(), "kvc_staging-REDIS_URL");
});

test("changes that are staged during a save are kept, and saved later", async () => {
  const slug = await created();
  const { page, context } = await opened(slug);
  const set = async (key, environment, text) => {
    await edit(page, key, environment);
    await field(page).fill(text);
    await keep(page);
  };
  await set("REDIS_URL", "staging", "kvc_first");
  const held = later();
  await context.route("**/changes", async (route) => {
    await held.promise;
    await route.fallback();
  });
  await page.locator("#grid").press("Control+s");
  await page.getByRole("button", { name: "Save 1 change" }).click();
  await page.getByText("Saving…").waitFor();
  await page.getByRole("button", { name: "Continue editing" }).click();
  await set("REDIS_URL", "staging", "kvc_second");
  await set("MAIL_FROM", "development", "kvc_other");
  held.resolve();
  await page.getByText("Saved 1 change.").waitFor();
  assert.equal(await value(slug, "staging", "REDIS_URL"), "kvc_first");
  // The second value replaces the first one, which is no conflict.
  await bar(page).getByText("2 changes in 2 environments").waitFor();
  assert.equal(await bar(page).getByText("conflict").count(), 0);
  await save(page, 2);
  assert.equal(await value(slug, "staging", "REDIS_URL"), "kvc_second");
  assert.equal(await value(slug, "development", "MAIL_FROM"), "kvc_other");
  assert.equal(await bar(page).isVisible(), false);
});

test("a secret that is staged to be hidden or deleted gets a description only with a value", async () => {
  const slug = await created();
  const { page } = await opened(slug);
  const description = page.getByRole("textbox", { name: "Description" });
  await goTo(page, "API_KEY", "staging");
  await page.locator("#grid").press("x");
  await edit(page, "API_KEY", "staging");
  assert.equal(await description.isDisabled(), true);
  await page.getByText("Enter a value to change the description.").waitFor();
  await field(page).fill("kvc_new");
  await description.fill("Key of the workers");
  await keep(page);
  await goTo(page, "REDIS_URL", "staging");
  await page.locator("#grid").press("Delete");
  await edit(page, "REDIS_URL", "staging");
  assert.equal(await description.isDisabled(), true);
  await keep(page);

  await save(page, 2);

  const { secret } = await call("GET", path(slug, "staging", "API_KEY"));
  assert.deepEqual([secret.value, secret.description], ["kvc_new", "Key of the workers"]);
  await assert.rejects(value(slug, "staging", "REDIS_URL"), /404/);
});

test("a secret without a value of its own gets a description only with a value", async () => {
  const slug = await created();
  const { page } = await opened(slug);
  const description = page.getByRole("textbox", { name: "Description" });
  const reason = page.getByText("Enter or copy a value to describe it here.");
  // Inherited from production.
  await edit(page, "REDIS_URL", "preview");
  assert.equal(await description.isDisabled(), true);
  await reason.waitFor();
  await page.getByLabel("Value from").selectOption({ label: "a copy of production" });
  assert.equal(await reason.count(), 0);
  await description.fill("Cache of the previews");
  await keep(page);
  // Missing: only development has a value.
  await edit(page, "DEBUG_TOOLBAR", "staging");
  assert.equal(await description.isDisabled(), true);
  await field(page).fill("kvc_off");
  await description.fill("Shown to developers");
  // A staged value can be described later.
  await keep(page);
  await edit(page, "DEBUG_TOOLBAR", "staging");
  assert.equal(await description.inputValue(), "Shown to developers");
  await description.fill("Shown to testers");
  await keep(page);

  await save(page, 2);

  const saved = async (environment, key) => {
    const { secret } = await call("GET", path(slug, environment, key));
    return [secret.value, secret.description];
  };
  assert.deepEqual(await saved("preview", "REDIS_URL"), ["kvc_production-REDIS_URL", "Cache of the previews"]);
  assert.deepEqual(await saved("staging", "DEBUG_TOOLBAR"), ["kvc_off", "Shown to testers"]);
});

test("the history of a secret continues after its first 100 earlier versions", async () => {
  const slug = await created();
  for (let version = 2; version <= 102; version++) {
    await change(call, slug, [{ environment: "staging", key: "REDIS_URL", action: "set", value: `kvc_${version}` }]);
  }
  const { page } = await opened(slug);
  await goTo(page, "REDIS_URL", "staging");
  await page.locator("#grid").press("h");
  const dialog = page.getByRole("dialog", { name: "History of REDIS_URL" });
  const names = dialog.locator("section").filter({ has: page.getByRole("heading", { name: /^staging/ }) }).locator(".version strong");
  await names.nth(100).waitFor();
  assert.equal(await names.last().textContent(), "v2");
  // The other environments have one version.
  const more = dialog.getByRole("button", { name: /^Show older versions/ });
  assert.deepEqual(await more.evaluateAll((buttons) => buttons.map((button) => button.getAttribute("aria-label"))), ["Show older versions of staging"]);
  // The plan of the server keeps 100 earlier versions. Other plans keep more.
  const { history } = await call("GET", `/projects/${slug}/environments/staging/secrets/REDIS_URL/history?limit=1&values=false`);
  const first = { ...history[0], id: crypto.randomUUID(), version: 1 };
  await page.route("**/history?*&before=2", (route) => route.fulfill({ json: { history: [first] } }));
  await more.click();
  await names.nth(101).waitFor();
  await more.waitFor({ state: "detached" });
  assert.deepEqual(await names.allTextContents(), Array.from({ length: 102 }, (_, index) => `v${102 - index}`));
});
