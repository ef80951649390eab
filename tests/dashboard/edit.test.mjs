// Editing in Chromium: staged changes, saving with one request, conflicts, a lost response, and
// roles.

import assert from "node:assert/strict";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";

import { SIZES, cell, goTo, launch, look, open, openGrid } from "./browser.mjs";
import { caller, change, createMarks } from "./data.mjs";
import { databases, startServer, tokenOf } from "./server.mjs";

let server, browser, call, token, team;

before(async () => {
  server = await startServer("dashboard-edit");
  token = tokenOf("alice");
  call = caller(server.url, token);
  team = (await call("POST", "/auth/sync")).teams[0].team_id;
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

let projects = 0;
const contexts = [];

// Closes all windows, because a user can have only a limited number of event streams.
afterEach(() => Promise.all(contexts.splice(0).map((context) => context.close())));

// Opens a window with the grid of a new project.
async function opened(options = {}) {
  const slug = await createMarks(call, `Editing ${++projects}`);
  const window = await open(browser, { url: server.url, token, ...options });
  contexts.push(window.context);
  await openGrid(window.page, server.url, slug);
  return { ...window, slug };
}

const value = async (slug, environment, key) =>
  (await call("GET", `/projects/${slug}/environments/${environment}/secrets/${key}`)).secret.value;

// Edits a cell with the keyboard.
async function edit(page, key, environment, text) {
  await goTo(page, key, environment);
  await page.locator("#grid").press("e");
  await page.getByRole("textbox", { name: "New value" }).fill(text);
  await page.keyboard.press("Control+Enter");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.waitForFunction(() => document.activeElement?.id === "grid");
}

const bar = (page) => page.getByRole("region", { name: "Changes that are not saved" });

test("edits of three environments are saved with one request, by keyboard alone", async () => {
  const { page, seen, slug } = await opened();
  await edit(page, "REDIS_URL", "development", "kvc_new one");
  await edit(page, "MAIL_FROM", "staging", "kvc_two\nlines");
  await edit(page, "REDIS_URL", "production", "kvc_three");
  await bar(page).getByText("3 changes in 3 environments").waitFor();
  assert.doesNotMatch(await page.content(), /kvc_/);
  const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, document.title]));
  assert.doesNotMatch(stored, /kvc_/);
  await page.locator("#grid").press("Control+s");
  const dialog = page.getByRole("dialog", { name: "Review and save" });
  await dialog.getByText("preview, qa inherit this.").waitFor();
  const save = dialog.getByRole("button", { name: "Save 3 changes" });
  await save.focus();
  await page.keyboard.press("Enter");
  // The page asks for a second confirmation for production, and its button has the focus.
  await dialog.getByText("This changes production.").waitFor();
  await page.waitForFunction(() => document.activeElement?.textContent?.trim() === "Save to production");
  await page.keyboard.press("Enter");
  await page.getByText("Saved 3 changes.").waitFor();
  await dialog.waitFor({ state: "detached" });
  assert.equal(seen.requests.filter(({ method }) => method === "POST").length, 1);
  assert.equal(await value(slug, "development", "REDIS_URL"), "kvc_new one");
  assert.equal(await value(slug, "staging", "MAIL_FROM"), "kvc_two\nlines");
  assert.equal(await value(slug, "production", "REDIS_URL"), "kvc_three");
  await cell(page, "REDIS_URL", "production").and(page.locator("[aria-label$='v2']")).waitFor();
  assert.equal(await bar(page).isVisible(), false);
  assert.deepEqual(seen.problems, []);
});

test("hiding, deleting, copying and adding are staged, undone and done again", async () => {
  const { page, slug } = await opened();
  await goTo(page, "MAIL_FROM", "qa");
  await page.locator("#grid").press("x");
  await page.locator("[aria-label='MAIL_FROM, qa, inherited from production, Not saved: hidden here']").waitFor();
  await goTo(page, "LOG_LEVEL", "preview");
  await page.locator("#grid").press("Delete");
  await page.locator("[aria-label$='Not saved: override removed, then inherited from production']").waitFor();
  await page.locator("#grid").press("Control+z");
  await bar(page).getByText("1 change in 1 environment").waitFor();
  await page.locator("#grid").press("Control+Shift+Z");
  await bar(page).getByText("2 changes in 2 environments").waitFor();
  await goTo(page, "SENTRY_DSN", "staging");
  await page.locator("#grid").press("F2");
  await page.getByLabel("Value from").selectOption({ label: "a copy of production" });
  await page.getByRole("button", { name: "Keep" }).click();
  await page.locator("#filter").fill("");
  await page.locator("#grid").press("n");
  await page.getByLabel("Key", { exact: true }).fill("1 wrong");
  await page.keyboard.press("Control+Enter");
  await page.getByText("A key is 1 to 255").waitFor();
  await page.getByLabel("Key", { exact: true }).fill("NEW_KEY");
  await page.getByRole("button", { name: "Generate a random value" }).click();
  const made = await page.getByRole("textbox", { name: "New value" }).inputValue();
  assert.match(made, /^[A-Za-z0-9]{32}$/);
  await page.keyboard.press("Control+Enter");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await cell(page, "NEW_KEY", "staging").waitFor();
  await bar(page).getByRole("button", { name: "Review and save" }).click();
  await page.getByRole("button", { name: "Save 4 changes" }).click();
  await page.getByText("Saved 4 changes.").waitFor();
  assert.equal(await value(slug, "staging", "NEW_KEY"), made);
  assert.equal(await value(slug, "staging", "SENTRY_DSN"), "kvc_dsn");
  assert.equal(await value(slug, "preview", "LOG_LEVEL"), "kvc_info");
  await page.locator("[aria-label='MAIL_FROM, qa, hidden here, overrides production']").waitFor();
});

test("a key that is saved stays in the grid while the page loads its version", async () => {
  const { page, slug, context, seen } = await opened();
  await page.locator("#grid").press("n");
  await page.getByLabel("Key", { exact: true }).fill("BRAND_NEW");
  await page.getByRole("textbox", { name: "New value" }).fill("kvc_new");
  await page.keyboard.press("Control+Enter");
  await cell(page, "BRAND_NEW", "development").waitFor();
  // The test delays the response to the comparison that follows the save.
  let answer;
  const held = new Promise((resolve) => (answer = resolve));
  let asked;
  const isAsked = new Promise((resolve) => (asked = resolve));
  await context.route("**/compare", async (route) => {
    // The page may still load the comparison for the first event of its stream.
    if (!seen.requests.some(({ method }) => method === "POST")) return route.fallback();
    asked();
    await held;
    await route.continue({ headers: { ...route.request().headers(), authorization: `Bearer ${token}` } });
  });
  // Counts the states of the page in which the key has no row.
  await page.evaluate(() => {
    window.absent = 0;
    const names = () => [...document.querySelectorAll("#grid [role=rowheader] .name")].map(({ textContent }) => textContent);
    new MutationObserver(() => (window.absent += names().includes("BRAND_NEW") ? 0 : 1)).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  await page.locator("#grid").press("Control+s");
  await page.getByRole("button", { name: "Save 1 change" }).click();
  await isAsked;
  assert.equal(await value(slug, "development", "BRAND_NEW"), "kvc_new");
  await page.getByText("Saving…").waitFor();
  answer();
  await page.getByText("Saved 1 change.").waitFor();
  await page.locator("[aria-label='BRAND_NEW, development, own value, v1']").waitFor();
  assert.equal(await page.evaluate(() => window.absent), 0);
  await page.waitForFunction(() => document.querySelector("#grid .active")?.getAttribute("aria-label")?.startsWith("BRAND_NEW"));
});

test("what is saved stays saved if the page cannot load it", async () => {
  const { page, slug, context } = await opened();
  let isFailing = false;
  await context.route("**/compare", (route) => (isFailing ? route.abort() : route.fallback()));
  // A stream of events begins with an event, after which the page loads the comparison a second time.
  let answers = 0;
  const isCurrent = new Promise((resolve) => page.on("response", (response) => response.url().endsWith("/compare") && ++answers === 2 && resolve()));
  await page.reload();
  await page.locator("#grid").waitFor();
  await isCurrent;
  await edit(page, "REDIS_URL", "staging", "kvc_stored");
  await page.evaluate(() => {
    window.notices = [];
    new MutationObserver(() => window.notices.push(document.querySelector(".notice span")?.textContent)).observe(document.querySelector(".notices"), { subtree: true, childList: true, characterData: true });
  });
  isFailing = true;
  await page.locator("#grid").press("Control+s");
  await page.getByRole("button", { name: "Save 1 change" }).click();
  await page.getByText("This page still shows the earlier state: reload it.").waitFor();
  assert.equal(await bar(page).isVisible(), false);
  assert.equal(await value(slug, "staging", "REDIS_URL"), "kvc_stored");

  // The event of another change loads the comparison again, which fails too.
  const isRefused = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/compare"));
  await change(call, slug, [{ environment: "development", key: "REDIS_URL", action: "set", value: "kvc_other" }]);
  await isRefused;
  isFailing = false;
  await change(call, slug, [{ environment: "production", key: "REDIS_URL", action: "set", value: "kvc_other" }]);
  await page.getByText("Saved 1 change.", { exact: true }).waitFor();
  await cell(page, "REDIS_URL", "staging").and(page.locator("[aria-label*='v2']")).waitFor();
  // The general notice about the failure has not replaced the notice about the save.
  const notices = await page.evaluate(() => [...new Set(window.notices)].filter(Boolean));
  assert.deepEqual(notices, ["Saved 1 change. This page still shows the earlier state: reload it.", "Saved 1 change."]);
});

for (const [choice, expected] of [["theirs", "kvc_theirs"], ["mine", "kvc_mine"]]) {
  test(`a conflict writes nothing, and is decided: ${choice}`, async () => {
    const { page, slug, context } = await opened();
    // Blocks the event stream, so that the page does not learn of the change.
    await context.route("**/watch", (route) => route.abort());
    await page.reload();
    await page.locator("#grid").waitFor();
    await edit(page, "REDIS_URL", "staging", "kvc_mine");
    await edit(page, "MAIL_FROM", "development", "kvc_other");
    await change(call, slug, [{ environment: "staging", key: "REDIS_URL", action: "set", value: "kvc_theirs" }]);
    await page.locator("#grid").press("Control+s");
    const dialog = page.getByRole("dialog", { name: "Review and save" });
    await dialog.getByRole("button", { name: "Save 2 changes" }).click();
    await dialog.getByText("1 secret was changed by someone else. Nothing was saved.").waitFor();
    assert.equal(await value(slug, "development", "MAIL_FROM"), "kvc_a@example.com");
    assert.equal(await dialog.getByRole("button", { name: /^Save \d/ }).getAttribute("aria-disabled"), "true");
    // Conflicts are listed first.
    assert.equal(await dialog.locator(".lines .name").first().textContent(), "REDIS_URL");
    await look(page, `conflict-${choice}`);
    await dialog.locator(`[data-choice=${choice}]`).click();
    await dialog.getByText("Nothing was saved").waitFor({ state: "detached" });
    await dialog.getByRole("button", { name: /^Save [12] change/ }).click();
    await page.getByText(/Saved [12] change/).waitFor();
    assert.equal(await value(slug, "staging", "REDIS_URL"), expected);
    assert.equal(await value(slug, "development", "MAIL_FROM"), "kvc_other");
  });
}

test("after an answer that was lost, trying again writes nothing twice", async () => {
  const { page, slug, context } = await opened();
  await edit(page, "REDIS_URL", "staging", "kvc_once");
  await goTo(page, "API_KEY", "development");
  await page.locator("#grid").press("Delete");
  let sent = 0;
  // The service makes the changes, but the page gets no response.
  await context.route("**/changes", async (route) => {
    if (++sent > 1) return route.continue({ headers: { ...route.request().headers(), authorization: `Bearer ${token}` } });
    await call("POST", `/projects/${slug}/changes`, route.request().postDataJSON());
    return route.abort("connectionreset");
  });
  await page.locator("#grid").press("Control+s");
  const dialog = page.getByRole("dialog", { name: "Review and save" });
  await dialog.getByRole("button", { name: "Save 2 changes" }).click();
  await dialog.getByText("nothing is saved twice").waitFor();
  await dialog.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Saved 2 changes.").waitFor();
  assert.equal((await call("GET", `/projects/${slug}/environments/staging/secrets/REDIS_URL`)).secret.version, 2);
  const { logs } = await call("GET", `/audit?team_id=${team}&action=secret.deleted&limit=100`);
  assert.equal(logs.filter(({ resource_name, project_name }) => resource_name === "API_KEY" && project_name === `Editing ${projects}`).length, 1);
});

test("a server that is killed between saving and answering has saved once", async () => {
  mkdirSync(databases, { recursive: true });
  const file = join(databases, "killed.db");
  for (const name of [file, `${file}-wal`, `${file}-shm`]) rmSync(name, { force: true });
  const database = { SECRETS_DATABASE_URL: `sqlite://${file}` };
  let killed = await startServer("dashboard-killed", database);
  const own = caller(killed.url, token);
  await own("POST", "/auth/sync");
  const slug = await createMarks(own, "Killed");
  const { page, context } = await open(browser, { url: killed.url, token });
  contexts.push(context);
  await openGrid(page, killed.url, slug);
  await edit(page, "REDIS_URL", "development", "kvc_once");
  await edit(page, "REDIS_URL", "staging", "kvc_once");
  let sent = 0;
  await context.route("**/changes", async (route) => {
    if (++sent > 1) return route.fallback();
    await own("POST", `/projects/${slug}/changes`, route.request().postDataJSON());
    await killed.close();
    return route.abort("connectionreset");
  });
  await page.locator("#grid").press("Control+s");
  const dialog = page.getByRole("dialog", { name: "Review and save" });
  await dialog.getByRole("button", { name: "Save 2 changes" }).click();
  await dialog.getByText("nothing is saved twice").waitFor();
  // The staged changes are kept while the server cannot be reached.
  await dialog.getByRole("button", { name: "Try again" }).click();
  await dialog.getByRole("button", { name: "Try again" }).and(page.locator("[aria-disabled=false]")).waitFor();
  assert.equal(await dialog.locator(".lines .name").count(), 2);
  killed = await startServer("dashboard-killed-again", { ...database, SECRETS_LISTEN: new URL(killed.url).host });
  await dialog.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Saved 2 changes.").waitFor();
  for (const environment of ["development", "staging"]) {
    const { secret } = await own("GET", `/projects/${slug}/environments/${environment}/secrets/REDIS_URL`);
    assert.deepEqual([secret.value, secret.version], ["kvc_once", 2]);
  }
  await context.close();
  await killed.close();
});

test("a user who may only read is offered no edit", async () => {
  const { slug } = await opened();
  const bob = tokenOf("bob");
  await caller(server.url, bob)("POST", "/auth/sync");
  const user = await caller(server.url, bob)("GET", "/users/me");
  const invitation = await call("POST", `/teams/${team}/members`, { email: "bob@example.com", role: "member" });
  await caller(server.url, bob)("POST", `/invitations/${invitation.accept_url.split("/").at(-1)}/accept`);
  for (const environment of ["development", "staging", "production", "preview", "qa"]) {
    await call("PUT", `/projects/${slug}/environments/${environment}/permissions/${user.id}`, { role: "read" });
  }
  const { page, context } = await open(browser, { url: server.url, token: bob });
  contexts.push(context);
  await openGrid(page, server.url, slug);
  for (const key of ["e", "F2", "n", "x", "Delete", "Control+s"]) await page.locator("#grid").press(key);
  await page.locator("#grid").press("ArrowDown");
  await page.waitForFunction(() => document.querySelector("#grid .active")?.getAttribute("aria-label")?.startsWith("DATABASE_URL"));
  assert.equal(await page.getByRole("dialog").count(), 0);
  assert.equal(await bar(page).isVisible(), false);
  const labels = await page.locator(".detail button, .toolbar button").allTextContents();
  assert.doesNotMatch(labels.join(), /Edit|Add|Delete|Hide here/);
});

test("leaving with changes asks, and staying keeps them", async () => {
  const { page } = await opened();
  await edit(page, "REDIS_URL", "staging", "kvc_kept");
  const asked = [];
  page.on("dialog", (dialog) => (asked.push(dialog.type()), dialog.dismiss()));
  await page.getByRole("link", { name: "secrets: projects" }).click();
  await page.evaluate(() => history.pushState(null, "", location.href));
  await page.goBack();
  await page.waitForFunction(() => document.querySelector("#grid"));
  const refused = page.waitForEvent("dialog", (dialog) => dialog.type() === "beforeunload");
  // The page stays, so the call ends only when the window is closed.
  page.reload().catch(() => {});
  await refused;
  assert.deepEqual(asked, ["confirm", "confirm", "beforeunload"]);
  await bar(page).getByText("1 change in 1 environment").waitFor();
});

test("a change by someone else is shown at once, and a staged cell becomes a conflict", async () => {
  const { page, slug } = await opened();
  await edit(page, "REDIS_URL", "staging", "kvc_mine");
  await change(call, slug, [{ environment: "staging", key: "REDIS_URL", action: "set", value: "kvc_theirs" }]);
  await page.getByText("1 secret changed in staging").waitFor();
  await page.locator("[aria-label='REDIS_URL, staging, own value, v2, Conflict, not saved: new value']").waitFor();
  await bar(page).getByText("1 conflict").waitFor();
});

test("a sign-in in a second window lets the first one continue", async () => {
  const { page, context, slug } = await opened();
  await edit(page, "REDIS_URL", "staging", "kvc_mine");
  // Before the session ends: the page may load the comparison again by itself, and then shows the dialog.
  await goTo(page, "API_KEY", "staging");
  const ended = { status: 401, json: { error: "ended", code: "unauthenticated" } };
  let isEnded = true;
  // The route stays: Playwright answers a request twice if its route is removed meanwhile.
  await page.route("**/api/**", (route) => (isEnded ? route.fulfill(ended) : route.fallback()));
  await page.locator("#grid").press("Enter");
  const dialog = page.getByRole("dialog").getByText("Your session has ended");
  await dialog.waitFor();
  isEnded = false;

  const second = await context.newPage();
  await second.goto(`${server.url}/projects`);

  await dialog.waitFor({ state: "detached" });
  await page.getByText("API_KEY").first().waitFor();
  await bar(page).getByText("1 change").first().waitFor();
  assert.equal(await value(slug, "staging", "REDIS_URL"), "kvc_staging-REDIS_URL");
});

test("a version is revealed and rolled back", async () => {
  const { page, slug } = await opened();
  await goTo(page, "API_KEY", "staging");
  await page.locator("#grid").press("h");
  const dialog = page.getByRole("dialog", { name: "History of API_KEY" });
  await dialog.getByRole("button", { name: "Reveal version 1 of staging" }).click();
  await dialog.getByText("kvc_staging-API_KEY").waitFor();
  await dialog.getByText("by alice").first().waitFor();
  await look(page, "version");
  await dialog.getByRole("button", { name: "Roll back staging to version 1" }).click();
  await dialog.getByText("becomes the value of staging at once").waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("Rolled back API_KEY of staging.").waitFor();
  assert.equal(await value(slug, "staging", "API_KEY"), "kvc_staging-API_KEY");
  await dialog.getByRole("button", { name: "Reveal version 3 of staging" }).waitFor();
});

test("pasted and dropped text is planned, then staged", async () => {
  const { page, slug } = await opened();
  const text = "REDIS_URL=kvc_pasted\nBRAND_NEW='kvc_new'\nWRONG $LINE\n";
  const give = (type, text) =>
    page.evaluate(
      ([type, text]) => {
        const data = new DataTransfer();
        if (type === "paste") data.setData("text/plain", text);
        else data.items.add(new File([text], ".env"));
        const target = type === "paste" ? document.getElementById("grid") : document.querySelector("#grid .active");
        const Kind = type === "paste" ? ClipboardEvent : DragEvent;
        const name = type === "paste" ? "clipboardData" : "dataTransfer";
        target.dispatchEvent(new Kind(type, { bubbles: true, cancelable: true, [name]: data }));
      },
      [type, text],
    );
  await goTo(page, "REDIS_URL", "staging");
  await give("paste", text);
  const dialog = page.getByRole("dialog", { name: "Import into staging" });
  await dialog.getByText("1 new secret and 1 secret that exists already").waitFor();
  await dialog.getByText("Line 3 left out").waitFor();
  assert.doesNotMatch(await page.content(), /kvc_|\$LINE/);
  await look(page, "paste");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await goTo(page, "REDIS_URL", "development");
  await give("drop", text);
  await page.getByRole("dialog", { name: "Import into development" }).getByRole("button", { name: "Stage 2 changes" }).click();
  await bar(page).getByText("2 changes in 1 environment").waitFor();
  await page.locator("#grid").press("Control+s");
  await page.getByRole("button", { name: "Save 2 changes" }).click();
  await page.getByText("Saved 2 changes.").waitFor();
  assert.equal(await value(slug, "development", "REDIS_URL"), "kvc_pasted");
  assert.equal(await value(slug, "development", "BRAND_NEW"), "kvc_new");
});

for (const [name, size] of Object.entries(SIZES)) {
  test(`axe finds nothing in the windows of editing: ${name}`, async () => {
    const { page, seen } = await opened(size);
    const hostile = "<img src=x onerror=alert(1)>\n<script>alert(1)</script>";
    page.on("dialog", (dialog) => (seen.problems.push(dialog.message()), dialog.dismiss()));
    await page.locator("#grid").press("e");
    await page.getByRole("textbox", { name: "New value" }).fill("kvc_short");
    await page.getByRole("textbox", { name: "Description" }).fill(hostile);
    await look(page, "editor");
    await page.getByRole("textbox", { name: "New value" }).fill(`kvc_${hostile}`);
    await look(page, "editor-long");
    await page.keyboard.press("Control+Enter");
    await page.locator("#grid").press("ArrowDown");
    await page.locator("#grid").press("Delete");
    await page.locator("#grid").press("n");
    await page.getByLabel("Key", { exact: true }).fill("NEW.KEY");
    await look(page, "add");
    await page.keyboard.press("Control+Enter");
    await page.locator("#grid .staged").first().waitFor();
    await look(page, "staged");
    await bar(page).getByRole("button", { name: "Review and save" }).click();
    const dialog = page.getByRole("dialog", { name: "Review and save" });
    await dialog.getByRole("button", { name: "Reveal API_KEY" }).click();
    await dialog.getByText("onerror").last().waitFor();
    await look(page, "review");
    assert.equal(await page.locator("#dashboard :is(script, img, iframe)").count(), 0);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.locator("#grid").press("Control+Home");
    await page.locator("#grid").press("ArrowRight");
    await page.locator("#grid").press("h");
    await page.getByRole("dialog", { name: "History of API_KEY" }).waitFor();
    await page.locator(".panel .version").first().waitFor();
    await look(page, "history");
    assert.deepEqual(seen.problems, []);
  });
}
