// Limits for the numbers of requests, bytes and elements, in Chromium with a session of the
// development service. Times are reported, but not limited.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { launch, open, recordGrid } from "./browser.mjs";
import { caller, createLarge } from "./data.mjs";
import { devLink, devToken, startDev } from "./server.mjs";

// Maximum numbers of a first visit, until the grid of 1,000 keys and six environments is shown.
// Bytes are compressed; `page` includes everything except the responses of the API. The 30 requests are the document, two
// stylesheets, the icon, 18 scripts, 5 vendored scripts, and three requests to the API.
const LIMITS = { requests: 30, script: 58_000, page: 66_000, compare: 15_000, elements: 1_200 };

let server, browser, large;

before(async () => {
  server = await startDev("dashboard-speed");
  const call = caller(server.url, devToken(server));
  await call("POST", "/auth/sync");
  large = (await createLarge(call)).slug;
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

// Opens the project in a new page. Returns the files that were loaded until the grid was shown.
async function visit(context) {
  const page = await context.newPage();
  await recordGrid(page);
  await page.goto(`${server.url}/projects/${large}`);
  await page.waitForFunction(() => window.shownAt !== undefined);
  const loaded = await page.evaluate(() => {
    const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
    const before = all.filter(({ startTime }) => startTime < window.shownAt);
    const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0;
    return {
      shownAt: Math.round(window.shownAt),
      paint: Math.round(paint),
      entries: before.map(({ name, encodedBodySize, transferSize }) => ({ path: new URL(name).pathname, bytes: encodedBodySize, isLoaded: transferSize > 0 })),
    };
  });
  return { page, ...loaded };
}

const sum = (entries) => entries.reduce((total, { bytes }) => total + bytes, 0);

test("a first and a second visit load no more than the table allows", async (diagnostics) => {
  const { page: first, context } = await open(browser, { url: server.url });
  await first.goto(devLink(server));
  await first.locator(".items").waitFor();
  await first.close();
  // Clears the cache, because signing in has loaded the files.
  const session = await context.newCDPSession(await context.newPage());
  await session.send("Network.clearBrowserCache");

  const { page, entries, shownAt, paint } = await visit(context);
  const isApi = ({ path }) => path.startsWith("/api/");
  const compare = sum(entries.filter(({ path }) => path.endsWith("/compare")));
  const found = {
    requests: entries.length,
    script: sum(entries.filter(({ path }) => /\.m?js$/.test(path))),
    page: sum(entries.filter((entry) => !isApi(entry))),
    compare,
    elements: await page.evaluate(() => document.querySelectorAll("#grid *").length),
  };
  diagnostics.diagnostic(`first visit ${JSON.stringify(found)}, first paint ${paint} ms, grid ${shownAt} ms`);
  assert.ok(compare > 0 && found.script > 0);
  for (const [name, limit] of Object.entries(LIMITS)) assert.ok(found[name] <= limit, `${name}: ${found[name]} of ${limit}`);
  await page.close();

  const second = await visit(context);
  const files = second.entries.filter((entry) => !isApi(entry) && entry.isLoaded).map(({ path }) => path);
  diagnostics.diagnostic(`second visit: grid ${second.shownAt} ms`);
  assert.deepEqual(files, [`/projects/${large}`]);
  await context.close();
});

test("the bar is painted before the scripts are loaded", async () => {
  const { page, context } = await open(browser, { url: server.url });
  // The requests for scripts get no response.
  await page.route(/\.m?js$/, () => {});
  await page.goto(`${server.url}/projects/${large}`, { waitUntil: "commit" });
  await page.locator(".bar").getByText("secrets").waitFor();
  await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length === 1);
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await context.close();
});

test("windows and sections are not loaded before the grid", async () => {
  const { page: first, context } = await open(browser, { url: server.url });
  await first.goto(devLink(server));
  await first.locator(".items").waitFor();
  const { page, entries } = await visit(context);
  const late = entries.filter(({ path }) => /\/(sections|windows)\//.test(path));
  assert.deepEqual(late, []);
  // The page loads the windows in the background, before they are opened.
  await page.waitForFunction(() => performance.getEntriesByType("resource").some(({ name }) => name.endsWith("/windows/all.js")));
  await context.close();
});

test("a reveal, a column and a save are one request each", async () => {
  const { page: first, context, seen } = await open(browser, { url: server.url });
  await first.goto(devLink(server));
  await first.locator(".items").waitFor();
  await first.goto(`${server.url}/projects/${large}`);
  await first.locator("#grid").waitFor();
  await first.waitForFunction(() => performance.getEntriesByType("resource").some(({ name }) => name.endsWith("/windows/all.js")));
  const requests = () => seen.requests.filter(({ url }) => url.includes("/api/") && !url.endsWith("/watch") && !url.endsWith("/compare")).length;
  const costs = async (act) => {
    const before = requests();
    await act();
    return requests() - before;
  };
  const grid = first.locator("#grid");
  const reveal = await costs(async () => {
    await grid.press("Enter");
    await first.locator("#grid .value").first().waitFor();
  });
  await grid.press("Escape");
  const column = await costs(async () => {
    await grid.press("Shift+R");
    await first.getByRole("button", { name: "Reveal", exact: true }).last().click();
    await first.locator("#grid .value").nth(10).waitFor();
  });
  await grid.press("Escape");
  const save = await costs(async () => {
    await grid.press("Shift+ArrowDown");
    await grid.press("Shift+G");
    await grid.press("Control+s");
    await first.getByRole("button", { name: "Save 2 changes" }).click();
    await first.getByText("Saved 2 changes.").waitFor();
  });
  assert.deepEqual({ reveal, column, save }, { reveal: 1, column: 1, save: 1 });
  await context.close();
});
