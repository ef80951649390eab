// Files that are loaded after the first screen, in Chromium: if they cannot be loaded, the page says so, and the action
// works again later.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { launch, open, openGrid } from "./browser.mjs";
import { caller, createMarks } from "./data.mjs";
import { startServer, tokenOf } from "./server.mjs";

let server, browser, slug;

before(async () => {
  server = await startServer("dashboard-late");
  const call = caller(server.url, tokenOf("alice"));
  await call("POST", "/auth/sync");
  slug = await createMarks(call);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

const contexts = [];

afterEach(() => Promise.all(contexts.splice(0).map((context) => context.close())));

// Opens a window. `files.answer` is called for each request of a late file: by default, there is no connection.
async function opened() {
  const { page, context } = await open(browser, { url: server.url, token: tokenOf("alice") });
  contexts.push(context);
  const files = { answer: (route) => route.abort(), paths: /\/assets\/\w+\/(windows|sections)\// };
  await context.route(files.paths, (route) => files.answer(route));
  return { page, files };
}

const gone = (route) => route.fulfill({ status: 404, contentType: "application/json", body: "{}" });
const served = (route) => route.continue();

const notice = (page) => page.getByRole("status").getByText("This part of the page cannot be loaded. Check the connection.");

test("a window over the grid that cannot be loaded is a notice, and opens later", async () => {
  const { page, files } = await opened();
  // The page tries to load the windows in the background, without a notice.
  const isTried = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/windows/all.js"));
  await openGrid(page, server.url, slug);
  await isTried;
  assert.equal(await notice(page).count(), 0);
  for (const answer of [(route) => route.abort(), gone]) {
    files.answer = answer;
    await page.locator("#grid").press("?");
    await notice(page).waitFor();
    assert.equal(await page.getByRole("dialog").count(), 0);
    await page.getByRole("button", { name: "Close" }).click();
    await notice(page).waitFor({ state: "detached" });
    // The grid is usable.
    await page.locator("#grid").press("Control+Home");
    await page.locator("#grid").press("ArrowRight");
    assert.match(await page.locator("#grid .active").getAttribute("aria-label"), /^API_KEY, development, /);
  }
  files.answer = served;
  await page.locator("#grid").press("?");
  await page.getByRole("dialog", { name: "Legend and shortcuts" }).waitFor();
});

test("a window opens after the description of a selection could not be loaded", async () => {
  const { page, files } = await opened();
  const isTried = () => page.waitForEvent("requestfailed", (request) => request.url().endsWith("/windows/all.js"));
  const isFirst = isTried();
  await openGrid(page, server.url, slug);
  await isFirst;
  const isSecond = isTried();
  await page.locator("#grid").press("Shift+ArrowDown");
  await isSecond;
  assert.equal(await notice(page).count(), 0);

  files.answer = served;
  await page.locator("#grid").press("?");

  await page.getByRole("dialog", { name: "Legend and shortcuts" }).waitFor();
  await page.getByText("2 cells of 1 environment selected").waitFor();
});

test("a window whose stylesheet cannot be loaded is a notice, and opens later", async () => {
  const { page, files } = await opened();
  files.answer = (route) => (route.request().url().endsWith(".css") ? route.abort() : route.continue());
  const isTried = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/dialogs.css"));
  await openGrid(page, server.url, slug);
  await isTried;
  await page.locator("#grid").press("?");
  await notice(page).waitFor();
  assert.equal(await page.getByRole("dialog").count(), 0);
  files.answer = served;
  await page.locator("#grid").press("?");
  const dialog = page.getByRole("dialog", { name: "Legend and shortcuts" });
  await dialog.waitFor();
  assert.equal(await dialog.locator(".marks").evaluate((element) => getComputedStyle(element).display), "grid");
  assert.equal(await page.locator("link[href$='/dialogs.css']").count(), 1);
});

test("pasted text and copies of several cells report code that cannot be loaded", async () => {
  const { page } = await opened();
  const isTried = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/windows/all.js"));
  await openGrid(page, server.url, slug);
  await isTried;
  const grid = page.locator("#grid");
  const paste = () => page.evaluate(() => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", "NEW_KEY=kvc_new");
    document.getElementById("grid").dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData }));
  });
  const copy = async () => {
    await grid.press("Shift+ArrowDown");
    await grid.press("c");
  };
  for (const act of [paste, copy]) {
    await act();
    await notice(page).waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await notice(page).waitFor({ state: "detached" });
  }
});

test("the notice can load the page again, which asks before changes are lost", async () => {
  const { page } = await opened();
  await openGrid(page, server.url, slug);
  await page.locator("#grid").press("Control+Home");
  await page.locator("#grid").press("ArrowRight");
  await page.locator("#grid").press("x");
  const bar = page.getByRole("region", { name: "Changes that are not saved" });
  await bar.waitFor();
  await page.locator("#grid").press("Control+s");
  const reload = page.getByRole("button", { name: "Reload the page" });
  await reload.waitFor();
  const isAsked = page.waitForEvent("dialog");
  const isClicked = reload.click();
  const question = await isAsked;
  assert.equal(question.type(), "beforeunload");
  await question.dismiss();
  await isClicked;
  await bar.waitFor();
  await page.locator("#grid").press("Control+z");
  await bar.waitFor({ state: "hidden" });
  await page.locator("#grid").press("?");
  await Promise.all([page.waitForEvent("load"), reload.click()]);
  await page.locator("#grid").waitFor();
});

test("a section and the dialog of a new project can be loaded later", async () => {
  const { page, files } = await opened();
  const message = page.getByRole("heading", { name: "This part of the page cannot be loaded" });
  const retry = page.getByRole("button", { name: "Try again" });
  await page.goto(`${server.url}/projects/${slug}/environments`);
  for (const answer of [(route) => route.abort(), gone]) {
    files.answer = answer;
    await message.waitFor();
    const isFile = (request) => request.url().endsWith("/sections/environments.js");
    const isTried = Promise.race(["requestfailed", "requestfinished"].map((event) => page.waitForEvent(event, isFile)));
    await retry.click();
    await isTried;
    await message.waitFor();
  }
  files.answer = served;
  await retry.click();
  await page.locator(".entry").first().waitFor();

  await page.goto(`${server.url}/projects`);
  await page.locator(".item").first().waitFor();
  files.answer = gone;
  await page.getByRole("button", { name: "New project" }).click();
  await notice(page).waitFor();
  files.answer = served;
  await page.getByRole("button", { name: "New project" }).click();
  await page.getByRole("dialog", { name: "New project" }).waitFor();
});
