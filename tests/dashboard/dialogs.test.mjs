// Dialogs that only a button closes, in Chromium: a value that is shown once, and the sign-in after a session has ended.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { closeAll, launch, open } from "./browser.mjs";
import { caller, createTeam } from "./data.mjs";
import { startServer, tokenOf } from "./server.mjs";

let server, browser, place;
const windows = [];

before(async () => {
  server = await startServer("dashboard-dialogs");
  const [alice, bob] = ["alice", "bob"].map((name) => caller(server.url, tokenOf(name)));
  place = await createTeam(alice, bob);
  await alice("POST", "/tokens", { name: "ci", team_id: place.team, project_ids: [place.project] });
  browser = await launch();
});

afterEach(() => closeAll(windows));

after(async () => {
  await browser?.close();
  await server?.close();
});

// Opens the tokens of the project.
async function opened() {
  const window = await open(browser, { url: server.url, token: tokenOf("alice") });
  windows.push(window);
  await window.page.goto(`${server.url}/projects/${place.slug}/tokens`);
  await window.page.getByRole("button", { name: "Rotate: ci" }).waitFor();
  return window;
}

// Rotates the token. Returns its new value, which the dialog shows.
async function rotated(page) {
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Rotate: ci" }).click();
  await dialog.getByRole("button", { name: "Rotate" }).click();
  await dialog.getByRole("heading", { name: "Store the token now" }).waitFor();
  return shown(page);
}

const shown = (page) => page.getByRole("dialog").getByLabel("Token", { exact: true }).inputValue();

// Waits until the page shows a dialog as modal. A dialog that the browser has closed is not.
const isModal = (page) => page.waitForFunction(() => document.querySelector("dialog")?.matches(":modal"));

// Presses Esc several times, because a browser lets a page prevent only the first of them with `cancel`.
async function pressEscape(page) {
  for (let press = 0; press < 3; press++) await page.keyboard.press("Escape");
}

test("Esc never closes the dialog of a value that is shown once", async () => {
  const { page } = await opened();
  const value = await rotated(page);

  await pressEscape(page);

  await isModal(page);
  assert.equal(await shown(page), value);
  await page.getByRole("button", { name: "I have stored it" }).click();
  await page.locator("dialog").waitFor({ state: "detached" });
});

test("the back button asks before it leaves the dialog of a value that is shown once", async () => {
  const { page } = await opened();
  const navigation = page.getByRole("navigation", { name: "Project" });
  await navigation.getByRole("link", { name: "Environments" }).click();
  await page.getByRole("heading", { level: 1, name: "Environments" }).waitFor();
  await navigation.getByRole("link", { name: "Tokens" }).click();
  const value = await rotated(page);
  const asked = [];
  page.once("dialog", (question) => (asked.push(question.message()), question.dismiss()));

  await page.goBack();

  await page.waitForURL("**/tokens");
  assert.deepEqual(asked, ["The value is not shown again. Leave without storing it?"]);
  await isModal(page);
  assert.equal(await shown(page), value);
  page.once("dialog", (question) => question.accept());
  await page.goBack();
  await page.getByRole("heading", { level: 1, name: "Environments" }).waitFor();
  assert.equal(await page.locator("dialog").count(), 0);
});

test("a dialog that only a button closes opens again if the browser closes it", async () => {
  const { page } = await opened();
  const value = await rotated(page);

  await page.locator("dialog").evaluate((element) => element.close());

  await isModal(page);
  assert.equal(await shown(page), value);
  await page.getByRole("button", { name: "I have stored it" }).click();
  await page.locator("dialog").waitFor({ state: "detached" });
});

test("Esc never closes the dialog of a session that has ended", async () => {
  const { page } = await opened();
  let isEnded = true;
  const ended = { status: 401, json: { error: "ended", code: "unauthenticated" } };
  await page.route("**/api/v1/projects/**", (route) => (isEnded ? route.fulfill(ended) : route.fallback()));
  await page.getByRole("navigation", { name: "Project" }).getByRole("link", { name: "Environments" }).click();
  await page.getByRole("heading", { name: "Your session has ended" }).waitFor();

  await pressEscape(page);

  await isModal(page);
  isEnded = false;
  await page.getByRole("button", { name: "Continue" }).click();
  await page.locator("dialog").waitFor({ state: "detached" });
});
