// The session of a browser: signed in by a link of the development service, until it signs out.

import assert from "node:assert/strict";
import { createServer } from "node:http";
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
  // Waits until the dashboard is gone, because its menu has a link with the same text as the start
  // page.
  await page.locator("#dashboard").waitFor({ state: "detached" });
  await page.getByText("API documentation").first().waitFor();

  assert.deepEqual(await context.cookies(server.url), []);
  await other.getByRole("dialog").waitFor();
  const headers = { cookie: `secrets-session=${value}`, "x-secrets-page": "1" };
  assert.equal((await fetch(`${server.url}/api/v1/users/me`, { headers })).status, 401);
  await context.close();
});

test("a browser that is signed in sees changes as they happen", async () => {
  const { page, context, seen } = await open(browser, { url: server.url });
  await page.goto(devLink(server));
  const stream = page.waitForResponse((response) => response.url().endsWith("/watch"));
  // The first event of the stream makes the page load the comparison again.
  let comparisons = 0;
  const comparedAgain = page.waitForResponse((response) => response.url().endsWith("/compare") && ++comparisons === 2);
  await page.getByRole("link", { name: /Web API/ }).click();
  assert.equal((await stream).status(), 200);
  await comparedAgain;
  const call = caller(server.url, devToken(server));
  await call("POST", `/projects/${slug}/environments/staging/secrets`, { key: "FROM_ELSEWHERE", value: "kvc_value" });
  await page.getByText("FROM_ELSEWHERE").first().waitFor();

  // The service ends the stream when it checks the session again.
  await call("DELETE", "/auth/sessions");
  await page.getByRole("dialog").getByText("Your session has ended").waitFor({ timeout: 60_000 });
  assert.deepEqual(seen.problems, []);
  await context.close();
});

test("signing out asks before unsaved changes are lost", async () => {
  const { page, context } = await open(browser, { url: server.url });
  await page.goto(devLink(server));
  await page.getByRole("link", { name: /Web API/ }).click();
  await page.getByRole("button", { name: "Add key" }).first().click();
  await page.getByLabel("Key", { exact: true }).fill("API_KEY");
  await page.getByRole("textbox", { name: "New value" }).fill("kvc_value");
  await page.keyboard.press("Control+Enter");
  await page.getByText("1 change in 1 environment").waitFor();
  const asked = [];
  let isAgreed = false;
  page.on("dialog", async (dialog) => {
    asked.push(dialog.type());
    await (isAgreed ? dialog.accept() : dialog.dismiss());
  });
  const signOut = async () => {
    await page.getByText("dev@example.com").first().click();
    await page.getByRole("button", { name: "Sign out" }).click();
  };

  await signOut();

  await page.getByText("1 change in 1 environment").waitFor();
  assert.equal(await page.evaluate(async () => (await fetch("/api/v1/users/me", { headers: { "x-secrets-page": "1" } })).status), 200);
  assert.deepEqual(asked, ["confirm"]);
  await page.keyboard.press("Escape");
  isAgreed = true;
  await signOut();
  await page.locator("#dashboard").waitFor({ state: "detached" });
  assert.deepEqual(asked, ["confirm", "confirm"]);
  assert.deepEqual(await context.cookies(server.url), []);
  await context.close();
});

// Serves an empty page of another origin, without any policy. The browser regards the origin as the
// same site, so it sends the cookies too.
async function foreignPage() {
  const cookies = [];
  const foreign = createServer((request, response) => {
    cookies.push(request.headers.cookie ?? "");
    response.writeHead(200, { "content-type": "text/html", connection: "close" }).end("<!doctype html><title>foreign</title>");
  });
  await new Promise((resolve) => foreign.listen(0, "127.0.0.1", resolve));
  foreign.unref();
  return { url: `http://127.0.0.1:${foreign.address().port}/`, cookies };
}

test("a page of another port of this machine reads and changes nothing", async () => {
  const { page, context } = await open(browser, { url: server.url });
  await page.goto(devLink(server));
  await page.getByRole("link", { name: /Web API/ }).waitFor();
  const foreign = await foreignPage();
  await page.goto(foreign.url);
  // Cookies belong to the host and are sent to each of its ports.
  await page.evaluate(() => setTimeout(() => location.reload()));
  await page.waitForFunction(() => document.title === "foreign" && performance.getEntriesByType("navigation")[0].type === "reload");
  assert.ok(foreign.cookies.some((cookie) => cookie.startsWith("secrets-session=web_")), "the browser sends the cookie");
  const answers = await page.evaluate(
    async ([target, watch]) => {
      const status = (path, options) => fetch(target + path, { credentials: "include", ...options }).then((answer) => answer.status, () => "refused");
      const blind = (path, options) => fetch(target + path, { credentials: "include", mode: "no-cors", ...options }).then((answer) => answer.type, () => "refused");
      const loaded = (element) => new Promise((resolve) => {
        element.onload = () => resolve("loaded");
        element.onerror = () => resolve("refused");
        document.body.append(element);
      });
      const script = (src) => Object.assign(document.createElement("script"), { src });
      const image = (src) => Object.assign(document.createElement("img"), { src });
      const source = new EventSource(target + watch, { withCredentials: true });
      const stream = new Promise((resolve) => {
        source.onmessage = () => resolve("event");
        source.onerror = () => resolve("refused");
      });
      return {
        read: await status("/api/v1/users/me"),
        header: await status("/api/v1/users/me", { headers: { "x-secrets-page": "1" } }),
        change: await status("/api/v1/auth/sign-out", { method: "POST" }),
        json: await status("/api/v1/projects", { method: "POST", headers: { "content-type": "application/json" }, body: '{"name":"Foreign"}' }),
        blind: await blind("/api/v1/projects", { method: "POST", headers: { "content-type": "text/plain" }, body: '{"name":"Foreign"}' }),
        image: await loaded(image(`${target}/api/v1/users/me`)),
        script: await loaded(script(`${target}/api/v1/users/me`)),
        stream: await stream,
      };
    },
    [server.url, `/api/v1/projects/${slug}/watch`],
  );
  // The response to a request without CORS is opaque. The end of this test checks that the request
  // was refused.
  assert.deepEqual({ ...answers, blind: "" }, { read: "refused", header: "refused", change: "refused", json: "refused", blind: "", image: "refused", script: "refused", stream: "refused" });

  // The service does not allow its pages in a frame: the browser refuses the response.
  const framed = page.waitForEvent("requestfailed", (request) => request.url() === `${server.url}/projects`);
  await page.evaluate((target) => document.body.append(Object.assign(document.createElement("iframe"), { src: `${target}/projects` })), server.url);
  assert.equal((await framed).failure().errorText, "net::ERR_BLOCKED_BY_RESPONSE");

  // The request of a form has the cookie, because the form is of the same site.
  const answer = page.waitForResponse((response) => response.url().endsWith("/auth/sign-out") && response.request().method() === "POST");
  await page.evaluate((target) => {
    const form = Object.assign(document.createElement("form"), { method: "post", action: `${target}/api/v1/auth/sign-out` });
    document.body.append(form);
    form.submit();
  }, server.url);
  assert.equal((await answer).status(), 401);
  await page.waitForURL("**/auth/sign-out");

  await page.goto(`${server.url}/projects`);
  await page.getByRole("link", { name: /Web API/ }).waitFor();
  assert.equal(await page.getByText("Foreign").count(), 0);
  await context.close();
});
