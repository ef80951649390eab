// Hostile content in Chromium: more than 200 strings as names, descriptions and values, on every
// screen. The pages show them as text: no script runs, and nothing violates the content security
// policy.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { cell, launch, open, openGrid } from "./browser.mjs";
import { caller, change, createTeam } from "./data.mjs";
import { INHERITED_KEYS, INVISIBLE, LONG, PAYLOADS } from "./payloads.mjs";
import { startServer, tokenOf } from "./server.mjs";

// E-mail addresses, in which no whitespace is allowed.
const ADDRESSES = ["<script>hit()</script>@a.example", "\"><svg/onload=hit()>@b.example", "javascript:hit()@c.example"];

// Value of almost the maximum size, 64 KiB.
const VAST = "<img src=x onerror=hit()>".repeat(2_600);

let server, browser, alice, place;

// Creates an object with each string as its name. Returns the strings that the service accepts as
// names.
async function named(create) {
  const accepted = [];
  for (const text of PAYLOADS) {
    await create(text).then(() => accepted.push(text), (error) => assert.match(String(error), /: 400 /));
  }
  return accepted;
}

before(async () => {
  server = await startServer("dashboard-hostile", { SECRETS_EGRESS_ALLOW: "127.0.0.0/8" });
  alice = caller(server.url, tokenOf("alice"));
  const [worst] = PAYLOADS;
  const bob = caller(server.url, tokenOf("bob"));
  await bob("POST", "/auth/sync");
  await bob("PATCH", "/account", { name: worst });
  place = await createTeam(alice, bob, { name: worst, project: worst, description: worst });
  const { slug, team, project } = place;
  await alice("PATCH", "/account", { name: worst });
  await change(alice, slug, PAYLOADS.map((text, index) => ({ environment: "development", key: `KEY_${index}`, action: "set", value: `kvc_${text}`, description: text })));
  await change(alice, slug, [
    ...INVISIBLE.map(([text], index) => [`INVISIBLE_${index}`, `kvc_${text}`]),
    ...INHERITED_KEYS.map((key) => [key, `kvc_of_${key}`]),
    ["LONG", `kvc_${VAST}`],
  ].map(([key, value]) => ({ environment: "development", key, action: "set", value })));
  for (const email of ADDRESSES) await alice("POST", `/teams/${team}/members`, { email });
  await alice("PUT", `/projects/${slug}/environments/development/secrets/KEY_0`, { value: "kvc_second" });
  const environments = `/projects/${slug}/environments`;
  for (const [index, text] of PAYLOADS.slice(0, 8).entries()) await alice("POST", environments, { name: `environment-${index}`, description: text });
  const projects = await named((name) => alice("POST", "/projects", { name, description: name, team_id: team }));
  const tokens = await named((name) => alice("POST", "/tokens", { name, team_id: team, project_ids: [project] }));
  assert.ok(PAYLOADS.length >= 200 && projects.length >= 200 && tokens.length >= 200, [PAYLOADS.length, projects.length, tokens.length].join());
  const findings = PAYLOADS.map((text) => ({ rule_id: "rule", description: text, path: text, severity: "high" }));
  await alice("POST", "/scans", { project_id: project, source: { type: "findings", name: worst }, findings });
  await alice("POST", `${environments}/production/rotations`, {
    name: "main-db", integration_type: "postgresql", connection_method: "direct", rotation_interval_days: 30,
    connection: { host: "database.invalid", database: worst.slice(0, 60), admin_username: "u", admin_password: "kvc_p" },
  });
  await alice("POST", `${environments}/production/rotations/main-db/webhooks`, { url: "http://127.0.0.1:9/?x=<script>hit()</script>\"onload=hit()", events: ["rotation.failed"] });
  await alice("POST", `${environments}/production/rotations/main-db/rotate`);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

// Opens a window that reports a problem if a payload runs. The window is so high that all rows are
// rendered.
async function opened(options = {}) {
  const window = await open(browser, { url: server.url, token: tokenOf("alice"), height: 12_000, ...options });
  await window.page.exposeFunction("hit", () => void window.seen.problems.push("hit"));
  window.page.on("dialog", (dialog) => {
    window.seen.problems.push(dialog.message());
    dialog.dismiss();
  });
  return window;
}

// Returns the elements and attributes that only markup in a string can have created.
const strays = (page) =>
  page.evaluate(() => {
    const inBody = [...document.body.querySelectorAll("*")];
    const isStray = (element) =>
      element.matches("script, img, image, iframe, object, embed, video, audio, style, link, meta, base, math, marquee, form[action], a[href^='javascript' i]") ||
      [...element.attributes].some(({ name }) => name.startsWith("on"));
    return inBody.filter(isStray).map(({ outerHTML }) => outerHTML.slice(0, 100));
  });

// Checks that a screen shows each string, letter by letter.
async function check(page, screen, texts) {
  assert.deepEqual(await strays(page), [], screen);
  const content = await page.evaluate(() => document.body.textContent);
  const missing = texts.filter((text) => !content.includes(text));
  assert.deepEqual(missing, [], screen);
}

// For each screen, by the template of its path in the router: a selector of its content, texts that it shows, and a
// query. The router's table is in the file `routes.js`.
const screens = () => {
  const [worst] = PAYLOADS;
  return {
    "": [".item", PAYLOADS],
    projects: [".item", PAYLOADS],
    account: [".subheading", [worst]],
    "projects/{project}": ["[aria-label^='KEY_99, development']", PAYLOADS],
    "projects/{project}/environments": [".entry", PAYLOADS.slice(0, 8)],
    "projects/{project}/rotations": [".entry", [worst]],
    "projects/{project}/scans": [".entry", [worst]],
    "projects/{project}/tokens": [".entry", PAYLOADS],
    "projects/{project}/access": [".matrix", [worst]],
    "projects/{project}/audit": [".record", [worst]],
    "projects/{project}/settings": [".form", [worst]],
    "teams/{team}/members": [".entry", [worst, ...ADDRESSES]],
    "teams/{team}/tokens": [".entry", PAYLOADS],
    "teams/{team}/scans": [".entry, .state", [worst]],
    "teams/{team}/audit": [".record", PAYLOADS.slice(-20), "?limit=100"],
    "teams/{team}/usage": [".use", [worst]],
  };
};

const pathOf = (template, { slug, team } = place) => `/${template.replace("{project}", slug).replace("{team}", team)}`;

// Opens a window, and returns it with the templates of the paths in the router's table. Fails if `screens` lacks one.
async function openedWithScreens(options) {
  const window = await opened(options);
  // Without the cookie of a session, the root of the service is the start page.
  await window.context.addCookies([{ name: "secrets-session", value: "web_x", url: server.url }]);
  await window.page.goto(`${server.url}/account`);
  const templates = await window.page.evaluate(async () => {
    const { SCREENS } = await import(document.querySelector("script[type=module]").src.replace("main.js", "routes.js"));
    return Object.keys(SCREENS);
  });
  assert.deepEqual(Object.keys(screens()).sort(), templates.sort());
  return { ...window, templates };
}

test("texts on all screens are text", async () => {
  const { page, context, seen, templates } = await openedWithScreens();
  for (const template of templates) {
    const [content, texts, query = ""] = screens()[template];
    await page.goto(server.url + pathOf(template) + query);
    await page.locator(content).first().waitFor();
    await check(page, template, texts);
  }
  await page.goto(`${server.url}/projects/${place.slug}/scans`);
  await page.locator("summary", { hasText: "Findings" }).click();
  await page.locator(".finding").first().waitFor();
  await check(page, "findings", PAYLOADS);
  await page.goto(`${server.url}/projects/${place.slug}/rotations`);
  await page.getByText("History and webhooks").click();
  await page.locator(".webhook").first().waitFor();
  await check(page, "webhooks", []);
  assert.deepEqual(seen.problems, []);
  await context.close();
});

test("errors of the service are text on all screens", async () => {
  const { page, context, seen, templates } = await openedWithScreens({ height: 900 });
  const error = PAYLOADS.join(" ");
  await context.route(/\/api\/v1\/(?!users\/me$)/, (route) =>
    route.fulfill({ status: 422, headers: { "x-request-id": "<script>hit()</script>" }, json: { error, code: error, details: { fields: [{ field: error, message: error }] } } }),
  );
  for (const template of templates) {
    await page.goto(server.url + pathOf(template));
    await page.locator("main .state").waitFor();
    await check(page, template, PAYLOADS);
  }
  assert.deepEqual(seen.problems, []);
  await context.close();
});

test("names in the addresses of all screens are text", async () => {
  const { page, context, seen, templates } = await openedWithScreens({ height: 900 });
  // A slash would be another path.
  const names = PAYLOADS.filter((text) => !/[/%\\]/.test(text));
  for (const [index, template] of templates.entries()) {
    if (!template.includes("{")) continue;
    const name = names[(index * 17) % names.length];
    await page.goto(server.url + pathOf(template, { slug: encodeURIComponent(name), team: encodeURIComponent(name) }));
    await page.locator("main .state").waitFor();
    await check(page, `${template} ${name}`, []);
  }
  assert.deepEqual(seen.problems, []);
  await context.close();
});

// Returns JSON data in which `changed` has changed all texts. IDs, slugs, times, and words of the interface such as
// states are kept.
function withTexts(data, changed) {
  if (Array.isArray(data)) return data.map((item) => withTexts(item, changed));
  if (data !== null && typeof data === "object") {
    return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, name === "slug" ? value : withTexts(value, changed)]));
  }
  const isText = typeof data === "string" && !/^([a-z_.]*|[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT.*)$/.test(data);
  return isText ? changed(data) : data;
}

test("texts of all responses are text on all screens, and none is wider than its screen", async () => {
  const { page, context, seen, templates } = await openedWithScreens({ height: 900 });
  let number = 0;
  const wide = [];
  await context.route(/\/api\/v1\/(?!.*\/watch$)/, async (route) => {
    const headers = { ...route.request().headers(), authorization: `Bearer ${tokenOf("alice")}` };
    const response = await route.fetch({ headers });
    const body = await response.text();
    // Some responses have no content.
    if (!body) return route.fulfill({ response, body });
    const json = withTexts(JSON.parse(body), (text) => `${text}${PAYLOADS[number++ % PAYLOADS.length]}${LONG}`);
    return route.fulfill({ response, json });
  });
  for (const template of templates) {
    const [content, , query = ""] = screens()[template];
    await page.goto(server.url + pathOf(template) + query);
    await page.locator(content.replace(/^\[.*$/, "#grid")).first().waitFor();
    await check(page, template, ["hit()"]);
    for (const width of [320, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      // Elements that begin on the screen and end beyond it, unless they are in a part that scrolls or is cut off.
      const found = await page.evaluate(() => {
        if (document.documentElement.scrollWidth <= innerWidth) return [];
        const isCut = (element) => element !== null && element !== document.body && (getComputedStyle(element).overflowX !== "visible" || isCut(element.parentElement));
        const isWide = (element) => element.getBoundingClientRect().right > innerWidth && !isCut(element.parentElement);
        return [...document.body.querySelectorAll("*")].filter(isWide).map((element) => `${element.localName}.${element.className}`);
      });
      if (found.length) wide.push(`${template} at ${width} pixels: ${[...new Set(found)].join(" ")}`);
    }
  }
  assert.deepEqual(wide, []);
  assert.deepEqual(seen.problems, []);
  await context.close();
});

test("texts in the grid and its windows are text", async () => {
  const { page, context, seen } = await opened();
  await openGrid(page, server.url, place.slug);
  await page.locator("[aria-label^='KEY_99, development']").waitFor();
  await check(page, "grid", PAYLOADS);
  await page.locator("#grid").press("Shift+R");
  await page.getByRole("button", { name: "Reveal", exact: true }).last().click();
  await page.locator("#grid .value").nth(200).waitFor();
  // A cell shows the beginning of a value, and names of invisible characters.
  const values = [...PAYLOADS.slice(1).map((text) => `kvc_${text}`.slice(0, 60)), ...INVISIBLE.map(([, shown]) => `kvc_${shown}`), ...INHERITED_KEYS.map((key) => `kvc_of_${key}`)];
  await check(page, "values", values);
  await cell(page, "LONG", "development").click({ position: { x: 3, y: 3 } });
  await page.locator(".detail .shown pre", { hasText: `kvc_${VAST}` }).waitFor();
  await page.locator("#grid").press("Escape");
  await page.evaluate((text) => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    document.getElementById("grid").dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData: data }));
  }, PAYLOADS.filter((text) => !text.includes("'")).map((text, index) => `NEW_${index}='kvc_${text}'`).join("\n"));
  await page.getByRole("button", { name: /^Stage \d+ changes/ }).click();
  await page.locator("#grid").press("Control+s");
  const dialog = page.getByRole("dialog");
  for (const index of [0, 4, 14]) {
    await dialog.getByRole("button", { name: `Reveal NEW_${index}`, exact: true }).click();
    await dialog.locator("pre").nth(index && (index === 4 ? 1 : 2)).waitFor();
  }
  await check(page, "review", []);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.locator("#filter").fill("KEY_0");
  await page.locator("#filter").press("Enter");
  await page.locator("#grid").press("h");
  await dialog.getByRole("button", { name: "Reveal version 1 of development" }).click();
  await dialog.getByText(`kvc_${PAYLOADS[0]}`).waitFor();
  await check(page, "history", [PAYLOADS[0]]);
  assert.deepEqual(seen.problems, []);
  await context.close();
});

test("texts in the comparison and in the command palette are text", async () => {
  const { page, context, seen } = await opened();
  const dialog = page.getByRole("dialog");
  // Names of environments and keys as well, which the service would refuse.
  await context.route(/\/api\/v1\/projects\/[^/]+\/compare/, async (route) => {
    const response = await route.fetch({ headers: { ...route.request().headers(), authorization: `Bearer ${tokenOf("alice")}` } });
    // A comparison that has not changed has no content.
    if (response.status() === 304) return route.fulfill({ response });
    const json = await response.json();
    const keys = json.keys.map((row, index) => ({ ...row, key: `${row.key} ${PAYLOADS[index % PAYLOADS.length]}` }));
    const environments = json.environments.map((one, index) => ({ ...one, name: `${one.name} ${PAYLOADS[index]}` }));
    return route.fulfill({ response, json: { ...json, environments, keys } });
  });
  await openGrid(page, server.url, place.slug);
  await page.locator("#grid").press("d");
  await dialog.waitFor();
  await check(page, "compare", PAYLOADS);
  await dialog.getByRole("button", { name: "Compare values" }).click();
  await dialog.getByText("Compared.").waitFor();
  await check(page, "compared", PAYLOADS);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.keyboard.press("Control+k");
  await dialog.getByRole("option", { name: /Project$/ }).first().waitFor();
  for (const text of PAYLOADS.filter((_, index) => index % 8 === 0)) {
    await dialog.getByRole("combobox").fill(text);
    await page.waitForFunction((text) => document.querySelector("[role=option]")?.textContent.includes(text), text);
    assert.deepEqual(await strays(page), [], text);
  }
  assert.deepEqual(seen.problems, []);
  await context.close();
});

test("texts in addresses and dialogs are text", async () => {
  const { page, context, seen } = await opened({ height: 900 });
  const dialog = page.getByRole("dialog");
  await page.goto(`${server.url}/projects/${place.slug}/settings`);
  await page.getByRole("button", { name: "Delete project" }).click();
  await check(page, "delete", [`Delete ${PAYLOADS[0]}?`]);
  await page.goto(`${server.url}/teams/${place.team}/members`);
  await page.getByRole("button", { name: /^Remove: / }).click();
  await dialog.waitFor();
  await check(page, "remove", [`Remove ${PAYLOADS[0]} from the team?`]);
  await page.goto(`${server.url}/teams/${place.team}/tokens`);
  await page.getByRole("button", { name: `Rotate: ${PAYLOADS[4]}`, exact: true }).click();
  await dialog.waitFor();
  await check(page, "rotate", [`Rotate ${PAYLOADS[4]}?`]);
  const every = PAYLOADS.filter((_, index) => index % 20 === 0);
  for (const text of every) {
    await page.goto(`${server.url}/projects?q=${encodeURIComponent(text)}`);
    await page.getByRole("heading", { name: "Projects" }).waitFor();
    assert.equal(await page.getByLabel("Filter projects").inputValue(), text);
    await check(page, `filter ${text}`, []);
  }
  await page.goto(`${server.url}/projects/${place.slug}/audit?action=${encodeURIComponent(PAYLOADS[0])}&key=${encodeURIComponent(PAYLOADS[4])}`);
  // The service refuses a filter with this action.
  await page.locator("main .state").waitFor();
  await check(page, "audit filters", []);
  assert.deepEqual(seen.problems, []);
  await context.close();
});
