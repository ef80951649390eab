// The session of a browser: signed in by a link of the development service, until it signs out.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { launch, open } from "./browser.mjs";
import { caller } from "./data.mjs";
import { devLink, devToken, startDev } from "./server.mjs";

let server, browser, slug;

before(async () => {
  server = await startDev("dashboard-session");
  const call = caller(server.url, devToken(server));
  await call("POST", "/auth/sync");
  ({ slug } = await call("POST", "/projects", { name: "Web API" }));
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

test("a browser that opens the link sees the projects, and a second use of the link does not", async () => {
  const link = devLink(server);
  const { page, context, seen } = await open(browser, { url: server.url });
  await page.goto(link);
  await page.getByRole("link", { name: /Web API/ }).waitFor();
  const [cookie] = await context.cookies(server.url);
  assert.deepEqual([cookie.name, cookie.httpOnly, cookie.sameSite], ["secrets-session", true, "Strict"]);
  assert.equal(await page.evaluate("document.cookie"), "");
  const stored = await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])");
  assert.doesNotMatch(stored, /web_/);
  assert.deepEqual(seen.problems, []);

  const second = await open(browser, { url: server.url });
  const answer = await second.page.goto(link);
  assert.notEqual(answer.status(), 200);
  assert.deepEqual(await second.context.cookies(server.url), []);
  await context.close();
  await second.context.close();
});

test("signing out ends the session in every window", async () => {
  const { page, context } = await open(browser, { url: server.url });
  await page.goto(devLink(server));
  await page.getByRole("link", { name: /Web API/ }).waitFor();
  const [{ value }] = await context.cookies(server.url);
  const other = await context.newPage();
  await other.goto(`${server.url}/projects/${slug}`);
  await other.getByRole("heading", { name: "Web API" }).or(other.locator("#grid")).first().waitFor();

  await page.getByText("dev@example.com").first().click();
  await page.getByRole("button", { name: "Sign out" }).click();
  // The start page is not the dashboard, whose menu has a link of the same words.
  await page.locator("#dashboard").waitFor({ state: "detached" });
  await page.getByText("API documentation").first().waitFor();

  assert.deepEqual(await context.cookies(server.url), []);
  await other.getByRole("dialog").waitFor();
  const headers = { cookie: `secrets-session=${value}`, "x-secrets-page": "1" };
  assert.equal((await fetch(`${server.url}/api/v1/users/me`, { headers })).status, 401);
  await context.close();
});

test("a page of another port of this machine reads and changes nothing", async () => {
  const { page, context } = await open(browser, { url: server.url });
  await page.goto(devLink(server));
  await page.getByRole("link", { name: /Web API/ }).waitFor();
  const foreign = await startDev("dashboard-foreign");
  await page.goto(`${foreign.url}/health/live`);
  const answers = await page.evaluate(async (target) => {
    const attempt = (path, options) => fetch(target + path, { credentials: "include", ...options }).then((answer) => answer.status, () => "refused");
    return [
      await attempt("/api/v1/users/me"),
      await attempt("/api/v1/users/me", { headers: { "x-secrets-page": "1" } }),
      await attempt("/api/v1/auth/sign-out", { method: "POST" }),
    ];
  }, server.url);
  assert.deepEqual(answers, ["refused", "refused", "refused"]);
  await page.goto(`${server.url}/projects`);
  await page.getByRole("link", { name: /Web API/ }).waitFor();
  await foreign.close();
  await context.close();
});
