// The HTML pages of the server, in Chromium: in light and dark, at 320 pixels, without scripts, and checked
// with axe.

import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { pictures, profile, root } from "../../secrets-wasm/tests/places.mjs";
import { startServer, tokenOf } from "../../secrets-wasm/tests/server.mjs";
import { Browser } from "./driver.mjs";

const axe = readFileSync(join(root, "tests/wasm/node_modules/axe-core/axe.min.js"), "utf8");
let server;
let browser;
let login;
let invitation;

async function call(path, body) {
  const headers = { authorization: `Bearer ${tokenOf("alice")}`, "content-type": "application/json" };
  const method = body ? "POST" : "GET";
  const answer = await fetch(`${server.url}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
  assert.ok(answer.ok, `${path}: ${answer.status}`);
  return answer.json();
}

before(async () => {
  rmSync(profile("pages"), { recursive: true, force: true });
  server = await startServer("pages");
  const user = await call("/auth/sync", {});
  const team = user.teams[0].team_id;
  const member = await call(`/teams/${team}/members`, { email: "bob@example.com", role: "member" });
  invitation = new URL(member.accept_url).pathname;
  login = await call("/auth/cli/device", { client_id: "cli", client_name: "secrets 1.0", hostname: "laptop" });
  browser = await Browser.open({ folder: profile("pages") });
});

after(async () => {
  await browser?.close();
  await server?.close();
});

// Enters a code and a token at `/device`.
async function enter(code, token) {
  await browser.goTo(`${server.url}/device?user_code=${code}`);
  await browser.click("#token");
  await browser.type(token);
  await browser.click("button.main");
}

const pages = {
  start: () => browser.goTo(`${server.url}/`),
  device: () => browser.goTo(`${server.url}/device?user_code=${login.user_code}`),
  "device-unknown": () => enter("BCDF-GHJK", tokenOf("alice")),
  "device-confirm": () => enter(login.user_code, tokenOf("alice")),
  invitation: () => browser.goTo(server.url + invitation),
};

async function findings() {
  await browser.devTools("Runtime.evaluate", { expression: axe });
  const { violations } = await browser.run(() => window.axe.run());
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(", ")}`);
}

for (const [name, open] of Object.entries(pages)) {
  test(`axe finds nothing, and all fits 320 pixels: ${name}`, async () => {
    for (const scheme of ["light", "dark"]) {
      await browser.prefer({ "color-scheme": scheme });
      await browser.resize(1000, 800);
      await open();
      assert.deepEqual(await findings(), [], scheme);
      await browser.screenshot(join(pictures, `page-${name}-${scheme}.png`), { whole: true });
      await browser.resize(320, 640);
      assert.deepEqual(await findings(), [], `${scheme}, 320 pixels`);
      await browser.screenshot(join(pictures, `page-${name}-${scheme}-320.png`), { whole: true });
      const width = await browser.run(() => document.documentElement.scrollWidth);
      assert.ok(width <= 320, `${width} pixels wide`);
    }
  });

  test(`the page names the service, has a style and no script: ${name}`, async () => {
    await browser.requests();
    await open();
    const seen = await browser.run(() => ({
      scripts: document.scripts.length,
      text: document.body.innerText,
      html: document.documentElement.outerHTML,
      font: getComputedStyle(document.body).fontFamily,
    }));
    assert.equal(seen.scripts, 0);
    assert.match(seen.text, new RegExp(`secrets at ${server.url}`));
    assert.match(seen.font, /system-ui/);
    assert.ok(!seen.html.includes(tokenOf("alice").split(".")[0]), "no token is in the page");
    const others = (await browser.requests()).filter((url) => !url.startsWith(server.url));
    assert.deepEqual(others, []);
  });
}

test("a login is approved", async () => {
  await enter(login.user_code, tokenOf("alice"));
  await browser.click("button[value=approve]");
  assert.match(await browser.run(() => document.body.innerText), /The login is approved/);
  await browser.screenshot(join(pictures, "page-device-approved.png"), { whole: true });
});

test("the API documentation has an introduction, a filter and addresses of operations", async () => {
  await browser.prefer({ "color-scheme": "light" });
  await browser.resize(1000, 800);
  await browser.goTo(`${server.url}/api/docs`);
  await browser.until(() => document.querySelectorAll(".opblock").length > 50);
  const text = await browser.run(() => document.body.innerText);
  assert.match(text, /To begin: press Authorize/);
  assert.ok(await browser.run(() => !!document.querySelector(".operation-filter-input")));
  await browser.click(".opblock-summary-control");
  await browser.until(() => location.hash.startsWith("#/"));
  await browser.screenshot(join(pictures, "page-docs.png"));
});
