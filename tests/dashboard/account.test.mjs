// The account page in Chromium: the user's sessions, which the service ends.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { SIZES, launch, look, open } from "./browser.mjs";
import { caller } from "./data.mjs";
import { devLink, devToken, startDev } from "./server.mjs";

let server, browser;

before(async () => {
  server = await startDev("dashboard-account");
  await caller(server.url, devToken(server))("POST", "/auth/sync");
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

// Signs a browser in, and opens the account.
async function signedIn(options = {}) {
  const window = await open(browser, { url: server.url, ...options });
  await window.page.goto(devLink(server));
  await window.page.locator(".menu").waitFor();
  await window.page.goto(`${server.url}/account`);
  await window.page.getByText("this one").waitFor();
  return window;
}

// Returns the status of a request with the cookie of a window.
async function status({ context }) {
  const [{ value }] = await context.cookies(server.url);
  const headers = { cookie: `secrets-session=${value}`, "x-secrets-page": "1" };
  return (await fetch(`${server.url}/api/v1/users/me`, { headers })).status;
}

test("sessions are listed, and ended one by one or all others", async () => {
  const first = await signedIn();
  const second = await signedIn();
  const third = await signedIn();
  const { page } = first;
  await page.reload();
  const sessions = page.locator(".items").first().locator(".entry");
  await sessions.nth(2).waitFor();
  assert.equal(await sessions.count(), 3);
  assert.equal(await sessions.filter({ hasText: "this one" }).getByRole("button").count(), 0);

  await sessions.nth(1).getByRole("button").click();
  const dialog = page.getByRole("dialog");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.match(await page.evaluate(() => document.activeElement.textContent), /^End$/);
  await sessions.nth(1).getByRole("button").click();
  await dialog.getByRole("button", { name: "End", exact: true }).click();
  await page.getByText("The session has ended.").waitFor();
  await sessions.nth(2).waitFor({ state: "detached" });
  assert.deepEqual([await status(second), await status(third)].sort(), [200, 401]);

  await page.getByRole("button", { name: "End all others" }).click();
  await dialog.getByRole("button", { name: "End all others" }).click();
  await page.getByText("All other sessions have ended.").waitFor();
  await sessions.nth(1).waitFor({ state: "detached" });
  assert.deepEqual([await status(first), await status(second), await status(third)], [200, 401, 401]);

  await page.getByRole("main").getByRole("button", { name: "Sign out" }).click();
  await page.getByText("API documentation").first().waitFor();
  assert.deepEqual(await first.context.cookies(server.url), []);
  for (const { context, seen } of [first, second, third]) {
    assert.deepEqual(seen.problems, []);
    await context.close();
  }
});

for (const [name, size] of Object.entries(SIZES)) {
  test(`axe finds nothing: ${name}`, async () => {
    const { page, context } = await signedIn(size);
    await look(page, "account-sessions");
    await context.close();
  });
}
