// Comparing two environments in Chromium: groups of keys, equal values, and copies that are reviewed and saved.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";

import { SIZES, cell, closeAll, launch, look, open, openGrid } from "./browser.mjs";
import { caller, createLarge, createMarks, createTeam } from "./data.mjs";
import { startServer, tokenOf } from "./server.mjs";

let server, browser, call, team;
let projects = 0;
const windows = [];

before(async () => {
  server = await startServer("dashboard-compare");
  call = caller(server.url, tokenOf("alice"));
  team = (await call("POST", "/auth/sync")).teams[0].team_id;
  browser = await launch();
});

afterEach(() => closeAll(windows));

after(async () => {
  await browser?.close();
  await server?.close();
});

// Opens a window with the grid of a project.
async function openedGrid(slug, { who = "alice", ...options } = {}) {
  const window = await open(browser, { url: server.url, token: tokenOf(who), ...options });
  windows.push(window);
  await openGrid(window.page, server.url, slug);
  return { ...window, slug, dialog: window.page.getByRole("dialog", { name: /^Compare / }) };
}

const opened = async (options) => openedGrid(await createMarks(call, `Comparing ${++projects}`), options);

const value = async (slug, environment, key) =>
  (await call("GET", `/projects/${slug}/environments/${environment}/secrets/${key}`)).secret.value;

// Opens the comparison with the active cell in an environment.
async function compare(page, environment) {
  const names = await page.locator("#grid .heads .name").allTextContents();
  await page.locator("#grid").press("Control+Home");
  for (let step = 0; step <= names.indexOf(environment); step++) await page.locator("#grid").press("ArrowRight");
  await page.locator("#grid").press("d");
  await page.getByRole("dialog").waitFor();
}

// Waits until the window shows these keys, by group.
async function shows(page, groups) {
  const found = () =>
    JSON.stringify([...document.querySelectorAll(".compare section, .compare details")].map((group) => [
      group.querySelector("h3, summary").textContent.trim().replace(/ [\d,]+ keys?$/, ""),
      [...group.querySelectorAll(".name")].map(({ textContent }) => textContent).join(" "),
    ]));
  const wanted = JSON.stringify(Object.entries(groups));
  await page.waitForFunction(`(${found})() === ${JSON.stringify(wanted)}`).catch(() => {});
  assert.equal(await page.evaluate(found), wanted);
}

// Returns the field of one of the two environments.
const side = (dialog, name) => dialog.getByRole("combobox", { name: new RegExp(`^${name}`) });

// Returns the number of comparisons of values that the audit log has.
const recorded = async () => (await call("GET", `/audit?team_id=${team}&action=secrets.compared&limit=100`)).logs.length;

const COMMON = "API_KEY DATABASE_URL LOG_LEVEL REDIS_URL SMTP_PASSWORD STRIPE_WEBHOOK_SIGNING_SECRET UPSTREAM_TIMEOUT_MS";

test("keys are grouped, and values compared by the service only on request", async () => {
  const { page, dialog, seen } = await opened();
  const before = await recorded();
  await page.locator("#grid").focus();
  await compare(page, "development");
  await page.getByRole("heading", { name: "Compare development with staging" }).waitFor();
  await shows(page, { "Only in development": "DEBUG_TOOLBAR MAIL_FROM", "In both, values not compared": COMMON });
  assert.equal(await recorded(), before);
  await dialog.getByRole("button", { name: "Compare values" }).click();
  await dialog.getByText("Compared. The comparison is recorded").waitFor();
  await shows(page, { "Only in development": "DEBUG_TOOLBAR MAIL_FROM", "Different values": COMMON.replace("LOG_LEVEL ", ""), "Equal values": "LOG_LEVEL" });
  assert.equal(await recorded(), before + 1);
  const [request] = seen.requests.filter(({ url }) => url.includes("equal=true"));
  assert.equal(new URL(request.url).searchParams.get("environments").split(",").length, 2);
  assert.equal(seen.requests.some(({ url }) => url.includes("/secrets/")), false);
  assert.doesNotMatch(await page.content(), /kvc_/);
  // The result holds in both directions.
  await dialog.getByRole("button", { name: "Swap" }).click();
  await page.getByRole("heading", { name: "Compare staging with development" }).waitFor();
  await shows(page, { "Different values": COMMON.replace("LOG_LEVEL ", ""), "Only in development": "DEBUG_TOOLBAR MAIL_FROM", "Equal values": "LOG_LEVEL" });
  // Both environments inherit the same secrets, or one inherits them from the other.
  await side(dialog, "From").selectOption("preview");
  await side(dialog, "To").selectOption("production");
  await shows(page, {
    "In both, values not compared": "LOG_LEVEL",
    "Only in production": "API_KEY",
    "Equal values": "DATABASE_URL MAIL_FROM REDIS_URL SENTRY_DSN SMTP_PASSWORD STRIPE_WEBHOOK_SIGNING_SECRET TLS_CERTIFICATE UPSTREAM_TIMEOUT_MS",
  });
  // The same environment on both sides: the other side gets the previous environment.
  await side(dialog, "To").selectOption("preview");
  await page.getByRole("heading", { name: "Compare production with preview" }).waitFor();
});

test("selected keys are copied, reviewed and saved by keyboard alone", async () => {
  const { page, dialog, slug } = await opened();
  const focused = (text) => page.waitForFunction((text) => (document.activeElement.labels?.[0]?.textContent ?? document.activeElement.ariaLabel)?.trim() === text, text);
  await page.locator("#grid").focus();
  await compare(page, "staging");
  await page.waitForFunction(() => document.activeElement.matches(".compare select"));
  await page.getByRole("heading", { name: "Compare staging with production" }).waitFor();
  for (let tabs = 0; tabs < 3; tabs++) await page.keyboard.press("Tab");
  await focused("");
  await page.keyboard.type("e");
  await page.keyboard.press("ArrowDown");
  await focused("Select all: In both, values not compared");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Space");
  await page.keyboard.press("ArrowDown");
  await focused("DATABASE_URL");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Space");
  await dialog.getByText("2 selected").waitFor();
  // The shortcut works wherever the focus is in the window.
  await dialog.getByRole("button", { name: "Cancel" }).focus();
  await page.keyboard.press("Control+Enter");
  const review = page.getByRole("dialog", { name: "Review and save" });
  await review.getByText("copy of staging").first().waitFor();
  assert.deepEqual(await review.locator(".lines .name").allTextContents(), ["API_KEY", "LOG_LEVEL"]);
  await review.getByRole("button", { name: "Save 2 changes" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement.textContent.includes("Save to production"));
  await page.keyboard.press("Enter");
  await page.getByText("Saved 2 changes.").waitFor();
  assert.deepEqual(await Promise.all(["API_KEY", "LOG_LEVEL", "DATABASE_URL"].map((key) => value(slug, "production", key))), ["kvc_second", "kvc_debug", "kvc_production-DATABASE_URL"]);
  await page.waitForFunction(() => document.activeElement?.id === "grid");
});

test("a group is selected as a whole, without the keys that the filter hides", async () => {
  const { page, dialog } = await opened();
  await page.getByRole("button", { name: "Compare environments" }).click();
  await side(dialog, "From").selectOption("production");
  await side(dialog, "To").selectOption("staging");
  await dialog.getByLabel("Filter keys").fill("m");
  const all = dialog.getByRole("checkbox", { name: "Select all: Only in production" });
  await all.check();
  await dialog.getByText("1 selected").waitFor();
  await dialog.getByLabel("Filter keys").fill("");
  assert.equal(await all.evaluate((box) => box.indeterminate), true);
  await dialog.getByRole("checkbox", { name: "SENTRY_DSN" }).check();
  await dialog.getByRole("button", { name: "Copy 2 values to staging and review" }).click();
  await page.getByRole("dialog", { name: "Review and save" }).getByRole("button", { name: "Continue editing" }).click();
  await cell(page, "SENTRY_DSN", "staging").and(page.locator(".staged")).waitFor();
  // The comparison shows what is staged, and other environments have no selected keys.
  await compare(page, "production");
  await side(dialog, "To").selectOption("staging");
  await dialog.locator(".planned", { hasText: "Not saved: copy of production" }).first().waitFor();
  await dialog.getByRole("checkbox", { name: "MAIL_FROM" }).check();
  await side(dialog, "To").selectOption("development");
  await dialog.getByText("0 selected").waitFor();
  await dialog.getByLabel("Filter keys").fill("no such key");
  await dialog.getByText("No key matches the filter").waitFor();
  // The browser clears the search field first.
  await page.keyboard.press("Escape");
  await dialog.getByRole("checkbox", { name: "MAIL_FROM" }).waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.waitForFunction(() => document.activeElement?.id === "grid");
});

test("a secret that has changed since the comparison is not compared any more", async () => {
  const { page, dialog, slug } = await opened();
  await page.locator("#grid").focus();
  await compare(page, "development");
  await dialog.getByRole("button", { name: "Compare values" }).click();
  await dialog.locator("summary", { hasText: "Equal values" }).waitFor();
  await call("PUT", `/projects/${slug}/environments/staging/secrets/LOG_LEVEL`, { value: "kvc_trace" });
  await dialog.locator("section", { hasText: "In both, values not compared" }).getByText("LOG_LEVEL").waitFor();
});

test("a comparison that fails is reported, and can be repeated", async () => {
  const { page, dialog, context } = await opened();
  await page.locator("#grid").focus();
  await compare(page, "development");
  await context.route("**/compare?equal=true*", (route) => route.fulfill({ status: 429, json: {} }), { times: 1 });
  await dialog.getByRole("button", { name: "Compare values" }).click();
  await dialog.getByText("Too many requests.").waitFor();
  await dialog.getByRole("button", { name: "Compare values" }).click();
  await dialog.getByText("Compared.").waitFor();
});

test("a user who may not write copies nothing, and who can read one environment compares nothing", async () => {
  const { slug } = await createTeam(call, caller(server.url, tokenOf("bob")));
  const roles = async (given) => {
    const { members } = await call("GET", `/teams/${(await call("GET", `/projects/${slug}`)).team_id}`);
    const bob = members.find(({ email }) => email === "bob@example.com").user_id;
    for (const [environment, role] of Object.entries(given)) {
      await call("PUT", `/projects/${slug}/environments/${environment}/permissions`, { permissions: [{ user_id: bob, role }] });
    }
  };
  await call("POST", `/projects/${slug}/environments/development/secrets`, { key: "API_KEY", value: "kvc_one" });
  await roles({ development: "write", staging: "read", production: "none" });
  const { page, dialog, context } = await openedGrid(slug, { who: "bob" });
  await page.locator("#grid").focus();
  await compare(page, "development");
  await dialog.getByText("You may not write in staging.").waitFor();
  assert.equal(await dialog.getByRole("checkbox").count(), 0);
  assert.equal(await dialog.getByRole("button", { name: /^Copy/ }).count(), 0);
  assert.deepEqual(await side(dialog, "From").locator("option").allTextContents(), ["development", "staging"]);
  await context.close();
  await roles({ staging: "none" });
  const { page: alone } = await openedGrid(slug, { who: "bob" });
  assert.equal(await alone.getByRole("button", { name: "Compare environments" }).count(), 0);
  await alone.locator("#grid").press("d");
  await alone.locator("#grid").press("?");
  await alone.getByRole("dialog", { name: "Legend and shortcuts" }).waitFor();
  assert.equal(await alone.getByRole("dialog").count(), 1);
});

// Returns the keys and environments of the reads that the audit log of a project has.
const reads = async (slug) => {
  const { id } = await call("GET", `/projects/${slug}`);
  const { logs } = await call("GET", `/audit?team_id=${team}&project_id=${id}&action=secret.read&limit=100`);
  return logs.map(({ resource_name, environment_name }) => `${environment_name} ${resource_name}`).sort();
};

const line = (dialog, key) => dialog.locator(".difference").filter({ has: dialog.page().locator(`.name:text-is("${key}")`) });

test("both values of a key are revealed, recorded, and hidden again after the time of the grid", async () => {
  const { page, dialog, slug, seen, context } = await opened();
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.url });
  await page.clock.install();
  await page.locator("#grid").focus();
  await compare(page, "development");
  assert.deepEqual(await reads(slug), []);
  const row = line(dialog, "API_KEY");
  await row.getByRole("button", { name: "Reveal API_KEY" }).click();
  await row.locator("pre").nth(1).waitFor();
  assert.deepEqual(await row.locator("pre").allTextContents(), ["kvc_development-API_KEY", "kvc_second"]);
  assert.deepEqual(await reads(slug), ["development API_KEY", "staging API_KEY"]);
  await row.getByRole("button", { name: "Copy API_KEY of staging" }).click();
  await row.getByText("Copied API_KEY of staging.").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "kvc_second");
  await row.getByRole("button", { name: "Clear the clipboard" }).click();
  await row.getByText("The clipboard is cleared.").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "");
  // Copying a value that is shown is no further read.
  assert.equal((await reads(slug)).length, 2);
  await page.clock.runFor(29_000);
  assert.equal(await row.locator("pre").count(), 2);
  await page.clock.runFor(2_000);
  await row.locator("pre").first().waitFor({ state: "detached" });
  assert.doesNotMatch(await page.content(), /kvc_/);
  // Only one of the environments has a value.
  await line(dialog, "DEBUG_TOOLBAR").getByRole("button", { name: "Reveal DEBUG_TOOLBAR" }).click();
  await dialog.locator("pre", { hasText: "kvc_on" }).waitFor();
  await line(dialog, "DEBUG_TOOLBAR").getByRole("button", { name: "Hide DEBUG_TOOLBAR" }).click();
  await dialog.locator("pre").waitFor({ state: "detached" });
  const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, location.href, document.title]));
  assert.doesNotMatch(stored + seen.requests.map(({ url }) => url).join(), /kvc_/);
});

test("revealed values are hidden when the environments, the secret or the window change", async () => {
  const { page, dialog, slug } = await opened();
  await page.locator("#grid").focus();
  await compare(page, "development");
  const reveal = async () => {
    await dialog.getByRole("button", { name: "Reveal DATABASE_URL" }).click();
    await dialog.locator("pre").nth(1).waitFor();
  };
  const hidden = () => page.waitForFunction(() => !document.body.textContent.includes("kvc_"));
  await reveal();
  await dialog.getByRole("button", { name: "Swap" }).click();
  await hidden();
  await reveal();
  await call("PUT", `/projects/${slug}/environments/staging/secrets/DATABASE_URL`, { value: "kvc_other" });
  await dialog.locator("pre").nth(1).waitFor({ state: "detached" });
  assert.deepEqual(await dialog.locator("pre").allTextContents(), ["kvc_development-DATABASE_URL"]);
  await dialog.getByRole("button", { name: "Hide DATABASE_URL" }).click();
  await reveal();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await hidden();
});

test("a refused read is reported, and who may not read one of the values reveals none", async () => {
  const { page, dialog, context } = await opened();
  await page.locator("#grid").focus();
  await compare(page, "development");
  await context.route("**/environments/*/secrets/REDIS_URL", (route) => route.fulfill({ status: 429, json: {} }), { times: 1 });
  await dialog.getByRole("button", { name: "Reveal REDIS_URL" }).click();
  await dialog.getByText("Not revealed: Too many requests.").waitFor();
  await dialog.locator("pre").waitFor();
  const { slug } = await createTeam(call, caller(server.url, tokenOf("carl")), { name: "Restricted", project: "Restricted" });
  const { environments, team_id } = await call("GET", `/projects/${slug}`);
  const production = environments.find(({ name }) => name === "production").id;
  await call("POST", `/projects/${slug}/environments`, { name: "child", inherits_from: production });
  for (const name of ["production", "staging"]) await call("POST", `/projects/${slug}/environments/${name}/secrets`, { key: "SHARED", value: "kvc_s" });
  const carl = (await call("GET", `/teams/${team_id}`)).members.find(({ email }) => email === "carl@example.com").user_id;
  for (const [name, role] of [["production", "none"], ["staging", "read"], ["child", "read"]]) {
    await call("PUT", `/projects/${slug}/environments/${name}/permissions`, { permissions: [{ user_id: carl, role }] });
  }
  const { page: other, dialog: restricted } = await openedGrid(slug, { who: "carl" });
  await other.locator("#grid").focus();
  await compare(other, "staging");
  await side(restricted, "To").selectOption("child");
  await restricted.locator(".difference .name", { hasText: "SHARED" }).waitFor();
  assert.equal(await restricted.getByRole("button", { name: /^Reveal/ }).count(), 0);
});

test("lines that differ are marked, and Enter reveals the key that has the focus", async () => {
  const { page, dialog, slug } = await opened();
  await call("PUT", `/projects/${slug}/environments/production/secrets/TLS_CERTIFICATE`, { value: "kvc_1\nsame\nold" });
  await call("POST", `/projects/${slug}/environments/staging/secrets`, { key: "TLS_CERTIFICATE", value: "kvc_1\nnew\nsame\n" });
  await cell(page, "TLS_CERTIFICATE", "staging").and(page.locator(":not(.mark-missing)")).waitFor();
  await page.locator("#grid").focus();
  await compare(page, "staging");
  await dialog.getByRole("checkbox", { name: "TLS_CERTIFICATE" }).focus();
  await page.keyboard.press("Enter");
  const row = line(dialog, "TLS_CERTIFICATE");
  await row.locator("mark").nth(2).waitFor();
  assert.deepEqual(await row.locator("mark").allTextContents(), ["new", "", "old"]);
  assert.deepEqual(await row.locator("pre").allTextContents(), ["kvc_1\nnew\nsame\n", "kvc_1\nsame\nold"]);
  await look(page, "compare-revealed");
  await page.keyboard.press("Enter");
  await row.locator("pre").first().waitFor({ state: "detached" });
});

test("1,000 keys are compared, and selected at once", async () => {
  const { slug } = await createLarge(call);
  const { page, dialog } = await openedGrid(slug);
  await page.locator("#grid").focus();
  await compare(page, "development");
  await dialog.getByRole("button", { name: "Compare values" }).click();
  await dialog.getByRole("checkbox", { name: "Select all: Different values" }).check();
  await dialog.getByRole("button", { name: "Copy 1,000 values to staging and review" }).click();
  await page.getByRole("button", { name: "Save 1,000 changes" }).waitFor();
});

test("the comparison has no findings of axe, and fits into a narrow window", async () => {
  for (const size of Object.values(SIZES)) {
    const { page, dialog } = await opened(size);
    await page.locator("#grid").press("d");
    await dialog.getByRole("button", { name: "Compare values" }).click();
    await dialog.getByRole("checkbox", { name: "API_KEY" }).check();
    await dialog.locator("summary").click();
    await look(page, "compare");
    await dialog.getByRole("button", { name: "Reveal API_KEY" }).click();
    await dialog.locator("pre").nth(1).waitFor();
    await look(page, "compare-values");
  }
});
