// The event stream in Chromium: shared by the windows of a browser, and closed while no window is
// visible.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { launch, open, openGrid } from "./browser.mjs";
import { caller, change, createMarks } from "./data.mjs";
import { startServer, tokenOf } from "./server.mjs";

let server, browser, call, token;
let projects = 0;
const contexts = [];

before(async () => {
  server = await startServer("dashboard-live");
  token = tokenOf("alice");
  call = caller(server.url, token);
  await call("POST", "/auth/sync");
  browser = await launch();
});

afterEach(() => Promise.all(contexts.splice(0).map((context) => context.close())));

after(async () => {
  await browser?.close();
  await server?.close();
});

// Records the event streams of a page in `streams`, and lets the test hide the page with `see`.
const observe = (page) =>
  page.addInitScript(() => {
    const Original = EventSource;
    window.streams = [];
    window.EventSource = class extends Original {
      constructor(url) {
        super(url);
        window.streams.push(this);
      }
    };
    window.see = (state) => {
      Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    };
  });

const streams = (page) => page.evaluate(() => window.streams.map(({ readyState }) => readyState));

const set = (slug, key, value) => change(call, slug, [{ environment: "staging", key, action: "set", value }]);

// Opens the grid of a new project, with an open stream and a clock that runs only when the test advances it.
async function openPaused() {
  const slug = await createMarks(call, `Live ${++projects}`);
  const { page, context } = await open(browser, { url: server.url, token });
  contexts.push(context);
  await page.clock.install();
  await observe(page);
  await openGrid(page, server.url, slug);
  await page.waitForFunction(() => window.streams[0]?.readyState === EventSource.OPEN);
  // Otherwise the clock also runs while the test waits.
  await page.clock.pauseAt(Date.now() + 10_000);
  return { page, slug };
}

test("a page that is hidden for a minute closes its stream of events, and opens it again", async () => {
  const { page } = await openPaused();
  await page.evaluate(() => window.see("hidden"));
  await page.clock.runFor(59_000);
  assert.deepEqual(await streams(page), [1]);
  await page.clock.runFor(2_000);
  assert.deepEqual(await streams(page), [2]);
  await page.evaluate(() => window.see("visible"));
  await page.waitForFunction(() => window.streams[1]?.readyState === EventSource.OPEN);
});

test("of several windows one holds the stream, and tells the others", async () => {
  const slug = await createMarks(call, `Live ${++projects}`);
  const { page: first, context } = await open(browser, { url: server.url, token });
  contexts.push(context);
  const pages = [first, await context.newPage(), await context.newPage()];
  for (const page of pages) {
    await observe(page);
    await openGrid(page, server.url, slug);
    await pages[0].waitForFunction(() => window.streams[0]?.readyState === EventSource.OPEN);
  }
  await set(slug, "REDIS_URL", "kvc_2");
  for (const page of pages) await page.locator("[aria-label='REDIS_URL, staging, own value, v2']").waitFor();
  assert.deepEqual(await Promise.all(pages.map(streams)), [[1], [], []]);
  // The window with the event stream is closed: another window opens a stream.
  await pages[0].close();
  const [, second, third] = pages;
  const opened = (page) => page.waitForFunction(() => window.streams[0]?.readyState === EventSource.OPEN);
  await Promise.any([opened(second), opened(third)]);
  await set(slug, "REDIS_URL", "kvc_3");
  for (const page of [second, third]) await page.locator("[aria-label='REDIS_URL, staging, own value, v3']").waitFor();
  assert.equal((await Promise.all([streams(second), streams(third)])).flat().length, 1);
});

test("each project has a stream of its own, which ends with the screen", async () => {
  const [one, other] = [await createMarks(call, `Live ${++projects}`), await createMarks(call, `Live ${++projects}`)];
  const { page: first, context } = await open(browser, { url: server.url, token });
  contexts.push(context);
  const second = await context.newPage();
  for (const [page, slug] of [[first, one], [second, other]]) {
    await observe(page);
    await openGrid(page, server.url, slug);
    await page.waitForFunction(() => window.streams[0]?.readyState === EventSource.OPEN);
  }
  await first.getByRole("link", { name: "secrets: projects" }).click();
  await first.locator(".items").waitFor();
  assert.deepEqual([await streams(first), await streams(second)], [[2], [1]]);
});

test("a changed cell is marked for four seconds, although the mark of an earlier change ends meanwhile", async () => {
  const { page, slug } = await openPaused();
  const marked = () => page.locator("#grid .cell.flash").evaluateAll((cells) => cells.map((cell) => cell.ariaLabel.split(",")[0]));
  const changed = async (key) => {
    await set(slug, key, "changed");
    for (let tries = 0; tries < 200 && !(await marked()).includes(key); tries++) {
      await sleep(50);
      await page.clock.runFor(10);
    }
  };
  await changed("LOG_LEVEL");
  await page.clock.runFor(2_700);
  await changed("REDIS_URL");
  assert.deepEqual(await marked(), ["REDIS_URL"]);
  await page.clock.runFor(1_500);
  assert.deepEqual(await marked(), ["REDIS_URL"]);
  await page.clock.runFor(3_000);
  assert.deepEqual(await marked(), []);
});
