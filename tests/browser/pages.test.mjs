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
  await browser.submit("button.main");
}

const pages = {
  start: () => browser.goTo(`${server.url}/`),
  device: () => browser.goTo(`${server.url}/device?user_code=${login.user_code}`),
  "device-unknown": () => enter("BCDF-GHJK", tokenOf("alice")),
  "device-confirm": () => enter(login.user_code, tokenOf("alice")),
  invitation: () => browser.goTo(server.url + invitation),
};

// Returns the findings of axe in the page, or in the elements of a selector.
async function findings(selector) {
  await browser.devTools("Runtime.evaluate", { expression: axe });
  const { violations } = await browser.run((selector) => window.axe.run(selector ?? document), selector);
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(", ")}`);
}

for (const [name, open] of Object.entries(pages)) {
  test(`axe finds nothing, and the page fits 320 pixels: ${name}`, async () => {
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
  await browser.submit("button[value=approve]");
  assert.match(await browser.run(() => document.body.innerText), /The login is approved/);
  await browser.screenshot(join(pictures, "page-device-approved.png"), { whole: true });
});

// Opens the API documentation as a new page: after another page, so that the hash of the address is read.
async function openDocs(hash = "") {
  await browser.goTo("about:blank");
  await browser.goTo(`${server.url}/api/docs${hash}`);
  await browser.until(() => document.querySelectorAll(".opblock").length > 50);
}

test("the API documentation has a filter, and an introduction that fits 320 pixels", async () => {
  for (const [width, height, name] of [[1000, 800, "page-docs"], [320, 640, "page-docs-320"]]) {
    await browser.prefer({ "color-scheme": "light" });
    await browser.resize(width, height);
    await openDocs();

    await browser.screenshot(join(pictures, `${name}.png`));
    assert.match(await browser.run(() => document.body.innerText), /To begin: press Authorize/);
    assert.ok(await browser.run(() => !!document.querySelector(".operation-filter-input")));
    // Checks only the introduction, because Swagger UI itself has findings (contrast, nested
    // controls, a select without a name) and is wider than 320 pixels.
    assert.deepEqual(await findings("body > .swagger-ui"), [], name);
    const right = await browser.run(() => document.querySelector("body > .swagger-ui").getBoundingClientRect().right);
    assert.ok(right <= width, `${right} pixels wide`);
  }
});

const openOperations = () => browser.run(() => [...document.querySelectorAll(".opblock.is-open")].map(({ id }) => id));

test("the address of an operation in the API documentation opens the operation", async () => {
  await browser.resize(1000, 800);
  await openDocs();
  await browser.click("#operations-Projects-createProject .opblock-summary-control");
  await browser.until(() => location.hash.startsWith("#/") && document.querySelector(".opblock.is-open"));
  const hash = await browser.run(() => location.hash);

  await openDocs();
  assert.deepEqual(await openOperations(), []);
  await openDocs(hash);
  await browser.until(() => document.querySelector(".opblock.is-open"));
  await browser.screenshot(join(pictures, "page-docs-operation.png"));

  assert.deepEqual([hash, await openOperations()], ["#/Projects/createProject", ["operations-Projects-createProject"]]);
});

// Returns the colours of a style sheet: the custom properties of its `:root`, for light and dark.
function coloursOf(path) {
  const blocks = readFileSync(join(root, path), "utf8").matchAll(/:root\s*\{([^}]*)\}/g);
  return Array.from(blocks, ([, block]) => Object.fromEntries(Array.from(block.matchAll(/(--[\w-]+):\s*([^;]+);/g), ([, name, value]) => [name, value])));
}

test("the pages have the colours of the offline viewer, in light and dark", () => {
  const pages = coloursOf("secrets-http/src/routes/page.css");
  const viewer = coloursOf("examples/offline-viewer/style.css");

  assert.deepEqual([pages.length, viewer.length], [2, 2]);
  for (const [index, colours] of pages.entries()) {
    // No page of the server reports a success in colour.
    const { "--good": _, ...shared } = viewer[index];
    assert.deepEqual(colours, shared);
    assert.ok(Object.keys(colours).length > 10);
  }
});
