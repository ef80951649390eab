// The pages of the dashboard: headers, accessibility, hostile names, and screens without content.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { SIZES, launch, look, open, openGrid, withoutEvents } from "./browser.mjs";
import { caller, change, createMarks } from "./data.mjs";
import { startServer, tokenOf } from "./server.mjs";

let server, browser, call, token, slug;

before(async () => {
  server = await startServer("dashboard-pages");
  token = tokenOf("alice");
  call = caller(server.url, token);
  await call("POST", "/auth/sync");
  slug = await createMarks(call);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

const opened = (options = {}) => open(browser, { url: server.url, token, ...options });

test("the page has a strict policy, and its files are cached for ever and not counted", async () => {
  const page = await fetch(`${server.url}/projects/some/thing`);
  const policy = page.headers.get("content-security-policy");
  for (const part of ["default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'", "base-uri 'none'"]) {
    assert.ok(policy.includes(part), policy);
  }
  assert.doesNotMatch(policy, /unsafe/);
  for (const [name, value] of [["cache-control", "no-store"], ["cross-origin-opener-policy", "same-origin"], ["cross-origin-embedder-policy", "require-corp"], ["referrer-policy", "no-referrer"]]) {
    assert.equal(page.headers.get(name), value, name);
  }
  const [main] = (await page.text()).match(/\/assets\/[0-9a-f]{16}\/main\.js/);
  const file = await fetch(server.url + main);
  assert.equal(file.headers.get("cache-control"), "public, max-age=31536000, immutable");
  assert.equal(file.headers.get("content-encoding"), "gzip");
  assert.equal(file.headers.get("x-ratelimit-limit"), null);
  const plain = await fetch(server.url + main, { headers: { "accept-encoding": "identity" } });
  assert.equal(plain.headers.get("content-encoding"), null);
  assert.equal(await plain.text(), await file.text());
  for (const path of [main.replace(/[0-9a-f]{16}/, "0".repeat(16)), main.replace("main.js", "index.html"), main.replace("main.js", "..%2fmain.js")]) {
    assert.ok([400, 404].includes((await fetch(server.url + path)).status), path);
  }
});

test("the start page stays for those who are not signed in, and with the dashboard off", async () => {
  assert.match(await (await fetch(`${server.url}/`)).text(), /API documentation/);
  const cookie = { headers: { cookie: "secrets-session=web_x" } };
  assert.match(await (await fetch(`${server.url}/`, cookie)).text(), /id="dashboard"/);
  const off = await startServer("dashboard-off", { SECRETS_DASHBOARD: "off" });
  assert.match(await (await fetch(`${off.url}/`, cookie)).text(), /API documentation/);
  assert.equal((await fetch(`${off.url}/projects`)).status, 404);
  await off.close();
});

test("every request to the API says that it is from the page", async () => {
  const { page, seen, context } = await opened();
  await withoutEvents(context);
  await openGrid(page, server.url, slug);
  // The request for the event stream cannot have this header: the service checks the origin of the
  // request.
  const isApi = ([url]) => url.includes("/api/") && !url.endsWith("/watch");
  const api = seen.requests.map(({ url }, place) => [url, seen.headers[place]]).filter(isApi);
  assert.equal(api.length, 3);
  for (const [url, headers] of api) assert.equal(headers["x-secrets-page"], "1", url);
});

const screens = {
  projects: (page) => page.goto(`${server.url}/projects`).then(() => page.locator(".items").waitFor()),
  grid: (page) => openGrid(page, server.url, slug),
  revealed: async (page) => {
    await openGrid(page, server.url, slug);
    await page.locator("#grid").press("Enter");
    await page.locator("#grid .value").waitFor();
  },
  legend: async (page) => {
    await openGrid(page, server.url, slug);
    await page.locator("#grid").press("?");
    await page.getByRole("dialog").waitFor();
  },
  unknown: (page) => page.goto(`${server.url}/projects/none`).then(() => page.getByText("Not found").waitFor()),
};

for (const [name, size] of Object.entries(SIZES)) {
  test(`axe finds nothing: ${name}`, async () => {
    const { page, seen } = await opened(size);
    for (const [screen, show] of Object.entries(screens)) {
      await show(page);
      await look(page, screen);
    }
    assert.deepEqual(seen.problems, []);
  });
}

test("invisible characters of a value are marks", async () => {
  const { slug: project } = await call("POST", "/projects", { name: "Invisible" });
  await change(call, project, [{ environment: "development", key: "KEY", action: "set", value: "kvc_\u202Egnp.exe" }]);
  const { page } = await opened();
  await openGrid(page, server.url, project);
  await page.locator("#grid").press("Enter");
  await page.locator("#grid .value").waitFor();
  assert.equal(await page.locator("#grid .value i").textContent(), "U+202E");
});

test("a visitor who is not signed in sees how to sign in", async () => {
  const { page } = await opened({ token: undefined });
  await page.goto(`${server.url}/projects/${slug}`);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.getByText("The command line and the API work without it.").waitFor();
  assert.equal(await page.locator("#grid").count(), 0);
});

test("a person without projects sees how to begin", async () => {
  const other = tokenOf("bob");
  await caller(server.url, other)("POST", "/auth/sync");
  const { page } = await opened({ token: other });
  await page.goto(`${server.url}/projects`);
  await page.getByText("secrets import .env").waitFor();
  await page.goto(`${server.url}/projects/${slug}`);
  await page.getByText("Not found").waitFor();
});

test("a session that ends leaves the page as it is", async () => {
  const { page, context } = await opened();
  await openGrid(page, server.url, slug);
  await context.route("**/secrets/**", (route) => route.fulfill({ status: 401, json: { error: "ended", code: "unauthenticated" } }));
  await page.locator("#grid").press("Enter");
  await page.getByRole("dialog").getByText("Your session has ended").waitFor();
  assert.equal(await page.locator("#grid").count(), 1);
});
