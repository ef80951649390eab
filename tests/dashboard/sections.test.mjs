// Sections of a project and a team in Chromium: tokens, audit log, environments, and their navigation.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, afterEach, before, test } from "node:test";

import { closeAll, launch, look, open } from "./browser.mjs";
import { caller, change, createTeam } from "./data.mjs";
import { startServer, tokenOf } from "./server.mjs";

let server, browser, alice, bob, place;
const windows = [];

before(async () => {
  server = await startServer("dashboard-sections");
  [alice, bob] = ["alice", "bob"].map((name) => caller(server.url, tokenOf(name)));
  place = await createTeam(alice, bob);
  await change(alice, place.slug, [{ environment: "production", key: "API_KEY", action: "set", value: "kvc_one" }]);
  browser = await launch();
});

afterEach(() => closeAll(windows));

after(async () => {
  await browser?.close();
  await server?.close();
});

// Opens a section of the project as one user, and waits for its heading.
async function opened(section, { who = "alice", query = "", title = section, ...options } = {}) {
  const window = await open(browser, { url: server.url, token: tokenOf(who), ...options });
  windows.push(window);
  await window.page.goto(`${server.url}/projects/${place.slug}/${section}${query}`);
  await window.page.getByRole("heading", { level: 1, name: title }).waitFor();
  return window;
}

const focused = (page) => page.evaluate(() => document.activeElement?.textContent?.trim());

// Waits until the dialog is gone, and checks that the button that opened it has the focus.
async function closed(page, button) {
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal(await focused(page), button);
}

test("the navigation leads to each section, also with the keyboard", async () => {
  const { page } = await opened("environments");
  const navigation = page.getByRole("navigation", { name: "Project" });
  assert.equal(await navigation.locator("[aria-current=page]").textContent(), "Environments");
  await navigation.getByRole("link", { name: "Tokens" }).click();
  await page.getByRole("heading", { level: 1, name: "Tokens" }).waitFor();
  assert.equal(new URL(page.url()).pathname, `/projects/${place.slug}/tokens`);
  assert.equal(await focused(page), "Tokens");
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await page.getByRole("heading", { level: 1, name: "Audit" }).waitFor();
  // Letters that are typed into a field are text, not shortcuts.
  await page.getByLabel("Key").focus();
  await page.keyboard.type("ge");
  assert.equal(await page.getByLabel("Key").inputValue(), "ge");
  await page.goBack();
  await page.getByRole("heading", { level: 1, name: "Tokens" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await page.locator("#grid").waitFor();
  // The grid has its own shortcuts, but does not handle these keys.
  await page.locator("#grid").focus();
  await page.keyboard.press("g");
  await page.keyboard.press("e");
  await page.getByRole("heading", { level: 1, name: "Environments" }).waitFor();
});

const tokens = async () => (await alice("GET", `/tokens?team_id=${place.team}`)).tokens;

test("a token is created, shown once, rotated and revoked", async () => {
  const { page, context } = await opened("tokens");
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "New token" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("cluster");
  await dialog.getByRole("checkbox", { name: "production" }).check();
  await dialog.getByLabel("Allowed networks").fill("none at all");
  await dialog.getByRole("button", { name: "New token" }).click();
  await dialog.locator(".field .bad").waitFor();
  const field = dialog.getByLabel("Allowed networks");
  const described = (await field.getAttribute("aria-describedby")).split(" ").at(-1);
  assert.match(await dialog.locator(`[id="${described}"]`).textContent(), /^Allowed networks /);
  await dialog.getByText(/^Request/).waitFor();
  await field.fill("203.0.113.0/24 127.0.0.1");
  await dialog.getByRole("button", { name: "New token" }).click();

  await dialog.getByRole("heading", { name: "Store the token now" }).waitFor();
  const value = await dialog.getByLabel("Token", { exact: true }).inputValue();
  const [made] = await tokens();
  assert.deepEqual([made.name, made.permissions, made.ip_allowlist.length, made.all_environments], ["cluster", ["read"], 2, false]);
  assert.ok(value.startsWith(made.token_prefix));
  await dialog.getByRole("button", { name: "Copy" }).click();
  await page.getByText("The token is copied.").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), value);
  // Esc does not close the dialog, because the shown value would be lost.
  await page.keyboard.press("Escape");
  assert.equal(await dialog.count(), 1);
  await dialog.getByRole("button", { name: "I have stored it" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.doesNotMatch(await page.content(), new RegExp(value));

  await caller(server.url, value)("GET", `/projects/${place.slug}/environments/production/secrets/API_KEY`);
  await page.reload();
  const row = page.getByRole("listitem").filter({ hasText: "cluster" });
  await row.getByText("127.0.0.1").first().waitFor();
  await row.getByText(/Web API · production/).waitFor();

  await row.getByRole("button", { name: "Rotate: cluster" }).click();
  await dialog.getByLabel("works for another hour").check();
  await dialog.getByRole("button", { name: "Rotate" }).click();
  await dialog.getByRole("heading", { name: "Store the token now" }).waitFor();
  const next = await dialog.getByLabel("Token", { exact: true }).inputValue();
  assert.notEqual(next, value);
  for (const each of [value, next]) await caller(server.url, each)("GET", "/users/me");
  await dialog.getByRole("button", { name: "I have stored it" }).click();

  await row.getByRole("button", { name: "Revoke: cluster" }).click();
  await page.keyboard.press("Escape");
  await closed(page, "Revoke");
  await row.getByRole("button", { name: "Revoke: cluster" }).click();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("heading", { name: "No service tokens" }).waitFor();
  assert.deepEqual(await tokens(), []);
  await assert.rejects(caller(server.url, next)("GET", "/users/me"), /401/);
});

test("the value of a token stays visible if the list cannot be loaded again", async () => {
  const { page } = await opened("tokens");
  let isFailing = true;
  await page.route(
    ({ pathname }) => pathname.endsWith("/api/v1/tokens"),
    (route) => (isFailing && route.request().method() === "GET" ? route.fulfill({ status: 429, json: {} }) : route.fallback()),
  );
  await page.getByRole("button", { name: "New token" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("once");
  await dialog.getByRole("button", { name: "New token" }).click();
  await page.locator(".failure").getByText("This page still shows the earlier state.").waitFor();
  const value = await dialog.getByLabel("Token", { exact: true }).inputValue();
  const [{ token_prefix }] = await tokens();
  assert.ok(value.startsWith(token_prefix));
  await dialog.getByRole("button", { name: "I have stored it" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.locator(".failure").getByText("Too many requests.").waitFor();
  isFailing = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("button", { name: "Rotate: once" }).waitFor();
  assert.equal(await page.locator(".failure").count(), 0);

  isFailing = true;
  await page.getByRole("button", { name: "Rotate: once" }).click();
  await dialog.getByRole("button", { name: "Rotate" }).click();
  await page.locator(".failure").waitFor();
  assert.notEqual(await dialog.getByLabel("Token", { exact: true }).inputValue(), value);
  for (const { id } of await tokens()) await alice("DELETE", `/tokens/${id}`);
});

test("a token that expires within 14 days is marked", async () => {
  const base = { project_ids: [place.project], team_id: place.team };
  await alice("POST", "/tokens", { ...base, name: "soon", expires_in_days: 13 });
  await alice("POST", "/tokens", { ...base, name: "later", expires_in_days: 15 });
  const { page } = await opened("tokens");
  const marks = (name) => page.getByRole("listitem").filter({ hasText: name }).locator(".tag.soon").count();
  assert.deepEqual([await marks("soon"), await marks("later")], [1, 0]);
  for (const { id } of await tokens()) await alice("DELETE", `/tokens/${id}`);
});

test("the audit log shows the entries that the filters of the address choose", async () => {
  await alice("GET", `/projects/${place.slug}/environments/production/secrets/API_KEY`);
  const { page } = await opened("audit", { query: "?action=secret.read" });
  const shown = page.locator(".record .action");
  const expected = async (query) => (await alice("GET", `/teams/${place.team}/audit?project_id=${place.project}&limit=100&${query}`)).logs.map(({ action }) => action);
  assert.deepEqual(await shown.allTextContents(), await expected("action=secret.read"));
  await page.getByLabel("Action").selectOption("environment.*");
  await page.locator(".record", { hasText: "secret.read" }).first().waitFor({ state: "detached" });
  assert.equal(new URL(page.url()).searchParams.get("action"), "environment.*");
  assert.deepEqual(await page.locator(".record").count(), (await expected("action=environment.*")).length);
  await page.getByRole("button", { name: "Clear" }).click();
  await page.locator(".record", { hasText: "project.created" }).waitFor();
  assert.equal(new URL(page.url()).search, "");
  assert.deepEqual(await shown.allTextContents(), await expected(""));
  const rows = page.locator(".chart tbody tr");
  assert.match(await rows.first().textContent(), /^\d{4}-\d\d-\d\d\d+$/);
});

test("the audit log shows what a service token has read, also after it is revoked", async () => {
  const { token, id } = await alice("POST", "/tokens", { name: "ci", team_id: place.team, project_ids: [place.project] });
  await caller(server.url, token)("GET", `/projects/${place.slug}/environments/production/secrets/API_KEY`);
  const { page } = await opened("tokens");
  await page.getByRole("link", { name: "Activity: ci" }).click();
  await page.getByRole("heading", { level: 1, name: "Audit" }).waitFor();
  const actor = page.getByRole("combobox", { name: /^Actor/ });
  const chosen = () => actor.evaluate((select) => select.selectedOptions[0].textContent);
  assert.equal(await chosen(), "service token ci");
  assert.equal(new URL(page.url()).searchParams.get("actor_id"), id);
  assert.deepEqual(await page.locator(".record .action").allTextContents(), ["secret.read"]);
  assert.deepEqual(await page.locator(".record .where-to").allTextContents(), ["Web API / production / API_KEY"]);
  await alice("DELETE", `/tokens/${id}`);
  await page.reload();
  await page.locator(".record").waitFor();
  assert.equal(await chosen(), "ci");
});

test("the audit log of a project is filtered by environment, and that of a team by project", async () => {
  await alice("GET", `/projects/${place.slug}/environments/production/secrets/API_KEY`);
  await change(alice, place.slug, [{ environment: "staging", key: "OTHER", action: "set", value: "kvc_x" }]);
  const { slug } = await alice("POST", "/projects", { name: "Mailer", team_id: place.team });
  const { page } = await opened("audit");
  // Chooses an option, and waits until an entry of another place is gone.
  const choose = async (name, option, other) => {
    await page.locator(".record", { hasText: other }).first().waitFor();
    await page.getByRole("combobox", { name: new RegExp(`^${name}`) }).selectOption({ label: option });
    await page.locator(".record", { hasText: other }).first().waitFor({ state: "detached" });
  };
  const places = async (part) => [...new Set((await page.locator(".record .where-to").allTextContents()).map((text) => text.split(" / ")[part]))];
  await choose("Environment", "staging", "production");
  assert.deepEqual(await places(1), ["staging"]);
  const { searchParams } = new URL(page.url());
  const { environments } = await alice("GET", `/projects/${place.slug}`);
  assert.equal(searchParams.get("environment_id"), environments.find(({ name }) => name === "staging").id);
  // A filter that this section does not have is ignored.
  await page.goto(`${server.url}/teams/${place.team}/audit?environment_id=unknown`);
  await choose("Project", "Mailer", "Web API");
  assert.deepEqual(await places(0), ["Mailer"]);
  // A shared address shows the same entries.
  await page.reload();
  await page.locator(".record").first().waitFor();
  assert.deepEqual(await places(0), ["Mailer"]);
  await alice("DELETE", `/projects/${slug}`);
});

test("the audit log has pages, and is downloaded whole", async () => {
  const changes = Array.from({ length: 230 }, (_, index) => ({ environment: "staging", key: `KEY_${index}`, action: "set", value: "kvc_x" }));
  await change(alice, place.slug, changes);
  const { page } = await opened("audit", { query: "?action=secret.*" });
  const records = page.locator(".record");
  assert.equal(await records.count(), 100);
  await page.getByRole("button", { name: "Show older entries" }).click();
  await records.nth(199).waitFor();
  await page.getByRole("button", { name: "Show older entries" }).click();
  await page.getByRole("button", { name: "Show older entries" }).waitFor({ state: "detached" });
  const all = await records.count();
  assert.ok(all > 230, String(all));
  for (const format of ["CSV", "NDJSON"]) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: `Download ${format}`, exact: true }).click()]);
    const lines = readFileSync(await download.path(), "utf8").trimEnd().split("\n");
    assert.equal(lines.length, format === "CSV" ? all + 1 : all, format);
    assert.equal(download.suggestedFilename(), `audit.${format.toLowerCase()}`);
  }
});

test("pages of the audit log without entries are skipped, or lead to older entries", async () => {
  const { page } = await opened("audit");
  const path = `/teams/${place.team}/audit`;
  let empty = 0;
  // A page may have no entries if nothing matches in the part of the log that the service has read.
  await page.route(
    ({ pathname }) => pathname.endsWith(`/api/v1${path}`),
    async (route) => {
      if (empty-- > 0) return route.fulfill({ json: { logs: [], next_cursor: "older", limit: 100 } });
      const { searchParams } = new URL(route.request().url());
      searchParams.delete("cursor");
      return route.fulfill({ json: await alice("GET", `${path}?${searchParams}`) });
    },
  );
  const records = page.locator(".record");
  const others = (action) => page.locator(".record", { hasText: action }).first();
  await others("secret.").waitFor();
  empty = 2;
  await page.getByLabel("Action").selectOption("project.*");
  await others("secret.").waitFor({ state: "detached" });
  assert.ok((await records.count()) > 0);
  empty = 20;
  await page.getByLabel("Action").selectOption("secret.*");
  await page.getByText("Older entries may match.").waitFor();
  assert.equal(await page.getByText("No entries match").count(), 0);
  await page.getByRole("button", { name: "Show older entries" }).click();
  await others("secret.").waitFor();
  assert.equal(await page.getByText("Older entries may match.").count(), 0);
});

test("the audit chain is verified on request, and a broken chain is an alert", async () => {
  await alice("GET", `/projects/${place.slug}/environments/production/secrets/API_KEY`);
  const path = `/teams/${place.team}/audit/verification`;
  for (const screen of [`/projects/${place.slug}/audit`, `/teams/${place.team}/audit`]) {
    const { page, seen } = await opened("audit");
    await page.goto(server.url + screen);
    const main = page.getByRole("main");
    await main.locator(".record").first().waitFor();
    assert.ok(!seen.requests.some(({ url }) => url.endsWith(path)));
    await main.getByRole("button", { name: "Verify chain" }).click();
    const status = await main.getByText("Chain valid: ").textContent();
    const { checked, unsealed } = await alice("GET", path);
    const [, ...shown] = status.match(/^Chain valid: ([\d,]+) (?:entry|entries) checked, ([\d,]+) not yet sealed$/);
    // Entries may have been sealed between the two requests, and during a request an entry can be in neither number.
    const sum = (numbers) => numbers.reduce((sum, number) => sum + Number(String(number).replace(",", "")), 0);
    assert.ok(Math.abs(sum(shown) - sum([checked, unsealed])) <= 2, `${shown} ${checked} ${unsealed}`);
    assert.equal(await main.getByRole("alert").count(), 0);
  }
  const { page, context } = await opened("audit");
  const verify = page.getByRole("button", { name: "Verify chain" });
  const answer = async (response) => {
    await context.unroute(`**${path}`);
    await context.route(`**${path}`, (route) => route.fulfill(response));
    await verify.click();
  };
  const chain = { team_id: place.team, checked: 1203, unchecked: 0, unsealed: 0 };
  await answer({ json: { ...chain, status: "broken", broken_position: 1204 } });
  await page.getByRole("alert").getByText("Chain broken at entry 1,204").waitFor();
  await look(page, "audit-broken");
  await answer({ json: { ...chain, status: "broken" } });
  await page.getByRole("alert").getByText("Chain broken: its stored start or end was changed or deleted").waitFor();
  await answer({ json: { ...chain, status: "valid", checked: 5000, unchecked: 1200, unsealed: 3 } });
  await page.getByText("Chain valid: 5,000 entries checked, 3 not yet sealed, 1,200 older not checked").waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
  await answer({ status: 429, json: { error: "too many requests", code: "rate_limited" } });
  await page.getByRole("alert").getByText("Too many requests.").waitFor();
  assert.equal(await page.getByText("Chain valid").count(), 0);
});

const environments = async () => (await alice("GET", `/projects/${place.slug}`)).environments;

test("an environment is created below a parent, and deleted by its name after its children", async () => {
  const { page } = await opened("environments");
  const dialog = page.getByRole("dialog");
  const create = async (name, parent) => {
    await page.getByRole("button", { name: "New environment" }).click();
    await dialog.getByLabel("Name").fill(name);
    await dialog.getByLabel("Inherits from").selectOption({ label: parent });
    await dialog.getByRole("button", { name: "New environment" }).click();
  };
  await create("not a name", "production");
  await dialog.locator(".field .bad").waitFor();
  await page.keyboard.press("Escape");
  await closed(page, "New environment");
  await create("preview", "production");
  await page.getByText("Created preview.").waitFor();
  await create("qa", "preview");
  await page.getByText("Created qa.").waitFor();
  const row = (name) => page.getByRole("listitem").filter({ has: page.getByText(name, { exact: true }) });
  await row("qa").getByText("1 value").waitFor();
  assert.match(await row("qa").getAttribute("class"), /depth-2/);
  const made = await environments();
  const named = (name) => made.find((environment) => environment.name === name);
  assert.equal(named("preview").inherits_from, named("production").id);
  assert.equal(named("qa").inherits_from, named("preview").id);

  assert.equal(await page.getByRole("button", { name: "Delete: production" }).count(), 0);
  await page.getByRole("button", { name: "Delete: preview" }).click();
  await dialog.getByRole("heading", { name: "preview cannot be deleted" }).waitFor();
  assert.deepEqual(await dialog.getByRole("listitem").allTextContents(), ["qa"]);
  await page.keyboard.press("Escape");
  await closed(page, "Delete");
  await page.getByRole("button", { name: "Delete: qa" }).click();
  const confirm = dialog.getByRole("button", { name: "Delete" });
  assert.equal(await confirm.isDisabled(), true);
  await dialog.getByLabel("Type qa to confirm").fill("qa");
  await confirm.click();
  await page.getByText("Deleted qa.").waitFor();
  assert.equal((await environments()).some(({ name }) => name === "qa"), false);
});

test("a member is offered nothing that the service refuses", async () => {
  for (const section of ["tokens", "audit"]) {
    const { page, seen } = await opened(section, { who: "bob", title: section });
    await page.getByText("alice@example.com").waitFor();
    assert.equal(await page.getByRole("main").getByRole("button").count(), 0);
    assert.ok(!seen.requests.some(({ url }) => /\/(audit|tokens)(\?|$)/.test(url) && url.includes("/api/")));
  }
  const { page } = await opened("environments", { who: "bob" });
  assert.equal(await page.getByRole("button", { name: /^Delete/ }).count(), 0);
  await page.getByRole("button", { name: "New environment" }).click();
  await page.getByLabel("Name").fill("of-bob");
  await page.getByRole("dialog").getByRole("button", { name: "New environment" }).click();
  await page.getByText("Created of-bob.").waitFor();
});
